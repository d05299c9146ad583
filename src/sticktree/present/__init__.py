"""What a fit has found, for people: in words, tables and text."""
