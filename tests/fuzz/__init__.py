"""Random damage, done on purpose: see README.md beside the tests."""
