"""kubectl commands about a parent: messages end with the next one for the user."""

from dataclasses import dataclass

from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Named

APPLY_CRDS = "in a checkout of the operator: kubectl apply --server-side -k crds"
"""The command that installs or updates the CRDs, with its place, for messages."""


@dataclass(frozen=True)
class Commands:
    """The commands about one parent and the objects in its namespace."""

    kind: str
    """The kind of the parent as an argument of kubectl: in lower case."""
    name: str
    namespace: str
    manager: str
    """The field manager of the operator. Its Deployment has this name in the label app.kubernetes.io/name."""

    @classmethod
    def of(cls, parent: Named, kind: Kind, manager: str) -> "Commands":
        """Return the commands about a parent of this kind; `manager` is the field manager of its operator."""
        return cls(kind.kind.lower(), parent.name, parent.namespace, manager)

    @property
    def edit(self) -> str:
        """The command that changes the spec of the parent."""
        return f"kubectl edit {self.kind} {self.name} -n {self.namespace}"

    @property
    def two_operators(self) -> str:
        """A cause of write wars, as a clause, with the command that lists the operators."""
        problem = f"a second operator with the field manager {self.manager} serves this namespace. Run only one"
        return f"{problem}: kubectl get deployments --all-namespaces -l app.kubernetes.io/name={self.manager}"

    @property
    def finalizers(self) -> str:
        """The command that lists objects of the namespace with their finalizers and the time of their deletion."""
        columns = "KIND:.kind,NAME:.metadata.name,DELETED:.metadata.deletionTimestamp,FINALIZERS:.metadata.finalizers"
        return f"kubectl get all -n {self.namespace} -o custom-columns={columns}"

    def describe(self, kind: str, name: str) -> str:
        """Return the command that describes an object of the namespace."""
        return f"kubectl describe {kind.lower()} {name} -n {self.namespace}"

    def events_about(self, kind: str, name: str) -> str:
        """Return the command that lists the Events about an object, which may be deleted already."""
        selector = f"involvedObject.kind={kind},involvedObject.name={name}"
        return f"kubectl get events -n {self.namespace} --field-selector {selector}"


_OWNERS_OF_PODS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")


def delete_command(kind: str, name: str, namespace: str) -> str:
    """Return the kubectl command to delete a child; the pods of a workload stay."""
    pods_stay = " --cascade=orphan" if kind in _OWNERS_OF_PODS else ""
    return f"kubectl delete {kind.lower()} {name}{pods_stay} -n {namespace}"
