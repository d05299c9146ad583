"""Fitted estimators in files: one ``.sticktree`` file holds all that a fit has learned.

The file is a zip of JSON and of arrays in numpy's own format. Nothing is pickled, so that reading
a file from somebody else runs none of their code.
"""
