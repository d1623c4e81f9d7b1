"""A kind cluster for tests and for trying things: Docker's engine, the node image, the cluster.

On the command line: `python -m cluster.kind up | down | engine | image`.
"""
