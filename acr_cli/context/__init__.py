"""C: what the orchestrator may look at before it chooses."""
