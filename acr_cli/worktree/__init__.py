"""The user's repository, read only; the run's own copy of it; and the one way back."""
