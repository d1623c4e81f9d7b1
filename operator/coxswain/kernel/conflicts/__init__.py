"""Desired against live, and what to write about it, given who owns each field; pure."""
