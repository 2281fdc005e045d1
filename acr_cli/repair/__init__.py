"""`builtin/repair`: search-based repair of failing tests without any language model."""
