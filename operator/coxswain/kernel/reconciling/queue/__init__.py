"""The workqueue of parents, and its workers."""
