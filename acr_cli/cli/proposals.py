"""Providers found by their key and servers found on this machine: proposed, and used once accepted."""
