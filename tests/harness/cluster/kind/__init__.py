"""A kind cluster for tests and experiments: Docker Engine, the node image, the cluster.

On the command line: `python -m cluster.kind up | down | engine | image`.
"""
