"""Speed as ratios against a peer in the same process: ``python -m benchmarks``."""
