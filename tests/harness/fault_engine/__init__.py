"""Fault injection for Kubernetes operators: scripts, a fault proxy, a witness, and oracles.

`fault_engine.workload.Workload` describes the operator under test. Nothing here imports an operator.
"""
