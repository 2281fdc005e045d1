"""Programs that run in a container beside an install step, in whatever Python or Perl its image has."""
