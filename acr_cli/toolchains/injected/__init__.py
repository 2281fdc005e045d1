"""Files that run inside the sandbox, under the repository's own Python: standard library and pytest only."""
