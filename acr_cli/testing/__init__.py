"""Public fakes, and the checks that a third-party part must pass."""
