"""One parent: its children in their order, then its status and Events."""
