"""Mutation check: small changes of the operator's source; a named test must detect each."""
