"""These repositories are data: their tests fail on purpose."""

collect_ignore_glob = ["*"]
