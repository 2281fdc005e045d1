"""Replay of outcome matrices: what a policy would have chosen, paid and reached."""
