"""Dragoman: any client's wire format, answered by a model that you run."""

__version__ = "0.1.0"
