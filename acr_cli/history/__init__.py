"""Past commits as tasks: found in a repository's history, examined in the sandbox, their fix hidden."""
