"""The conflict lab: many writers and one object, by each way that the API server has of writing.

`make conflict-lab` runs it on a throwaway Kubernetes and writes docs/conflicts.md with docs/conflicts.svg.
"""
