"""Reconciliation: from desired and live objects to writes."""
