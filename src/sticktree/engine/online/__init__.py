"""Rows that come in batches and do not stay: those that have left memory are kept as blocks."""
