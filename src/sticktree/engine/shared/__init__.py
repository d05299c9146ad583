"""The engine for noise that all leaves share."""
