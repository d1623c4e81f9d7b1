"""Releases: revisions, the rollback after a failed rollout, and render versions."""
