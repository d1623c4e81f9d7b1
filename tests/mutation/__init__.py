"""Mutation check: small changes of kernel lines; a named test must detect each."""
