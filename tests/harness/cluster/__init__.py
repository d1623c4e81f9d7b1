"""A throwaway Kubernetes: etcd, a real control plane and KWOK's fake nodes, started and stopped with a `with` block.

    with ControlPlane() as cluster:
        cluster.kubectl("create", "namespace", "shop")

On the command line: `python -m cluster programs | up | down`.
"""

from cluster.audit import AuditEvent, AuditLog, read_audit
from cluster.control_plane import ControlPlane
from cluster.kubectl import KubectlError
from cluster.processes import ProgramExitedError

__all__ = ["AuditEvent", "AuditLog", "ControlPlane", "KubectlError", "ProgramExitedError", "read_audit"]
