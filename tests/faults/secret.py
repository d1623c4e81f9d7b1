"""What must be shown nowhere."""

SECRET = "sesame-7f3a9c51"
"""The value of a Secret that every run has."""
