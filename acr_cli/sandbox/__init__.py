"""Where foreign code runs: docker, bubblewrap, host; each on a private copy of the tree."""
