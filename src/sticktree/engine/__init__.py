"""The sampler: a state of flat arrays, and one file for each move."""
