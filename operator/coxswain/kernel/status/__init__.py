"""Status and how soon it is written."""
