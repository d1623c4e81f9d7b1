"""Mutation check: small changes to lines of the kernel, each of which a named test must notice."""
