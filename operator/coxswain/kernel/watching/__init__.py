"""Watches: Kopf runs here and nowhere else."""
