"""The kernel: level-triggered reconciliation of any custom resource, on Kopf's watches."""
