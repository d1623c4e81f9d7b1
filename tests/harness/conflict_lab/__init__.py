"""The conflict lab: many writers of one object, with each write method of the API server.

`make conflict-lab` runs it on a throwaway Kubernetes and writes docs/conflicts.md with docs/conflicts.svg.
"""
