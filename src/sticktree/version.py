"""The version, where every part of the library can read it."""

__version__ = "0.1.0"
