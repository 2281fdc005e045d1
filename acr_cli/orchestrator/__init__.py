"""A: who takes a step. Voters, their weighted vote, and the policies made of it."""
