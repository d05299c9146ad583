"""The table of test log density: ``python -m benchmarks density``."""
