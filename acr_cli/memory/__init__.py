"""M: outcomes, kept where a crash cannot take them, and found again by meaning."""
