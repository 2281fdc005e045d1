"""The map of a repository: what is defined where and used where, ranked for the task at hand."""
