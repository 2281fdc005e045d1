"""acr: a coding agent with a router that learns from verified outcomes."""

__version__ = "0.1.0"
