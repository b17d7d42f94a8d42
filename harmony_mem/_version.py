"""The version, in the one place that setup and code read."""

__version__ = "0.1.0"
