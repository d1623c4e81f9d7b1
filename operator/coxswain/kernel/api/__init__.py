"""The client for the Kubernetes API server."""
