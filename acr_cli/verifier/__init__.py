"""F: the tests before and after a change, tampering undone, and one score u in [0, 1]."""
