"""Computes the status of a parent and writes it at the right time."""
