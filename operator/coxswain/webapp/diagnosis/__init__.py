"""Causes: why pods, or an autoscaler, do not get on, with the next command for the user."""
