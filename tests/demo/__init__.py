"""The demo, `make dev`, and pages recorded on a throwaway cluster."""
