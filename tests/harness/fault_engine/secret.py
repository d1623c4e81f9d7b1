"""The secret value that must never be disclosed."""

SECRET = "sesame-7f3a9c51"
"""The value of a Secret in the namespace of every run."""
