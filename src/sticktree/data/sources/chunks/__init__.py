"""Rows in files that are larger than memory."""
