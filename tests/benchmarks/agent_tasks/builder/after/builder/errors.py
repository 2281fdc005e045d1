"""What can be wrong with a build file."""


class CycleError(ValueError):
    """Rules that depend on each other."""
