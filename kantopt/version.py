"""The version of kantopt."""

__version__ = "0.1.0"
