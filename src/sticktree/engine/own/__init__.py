"""The engine for leaves with parameters of their own, and for columns of any kind.

Nodes above the leaves keep their φ; the parameters of every leaf are integrated out given the φ of
its parent. So a leaf is a small conjugate model for each column, whatever the kind, and an entry
that is missing is simply not there.
"""
