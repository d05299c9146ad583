"""Speed against peers in the same process, and test density: ``python -m benchmarks``."""
