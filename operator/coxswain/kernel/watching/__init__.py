"""Watches of the API server. Only this package runs Kopf."""
