"""kubectl commands about a parent: messages end with the next one for the user."""

from dataclasses import dataclass

from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Named

APPLY_CRDS = "in a checkout of Coxswain: kubectl apply --server-side -k crds"
"""The command that installs or updates the CRDs, with its place, for messages."""


@dataclass(frozen=True)
class Commands:
    """The commands about one parent and the objects in its namespace."""

    kind: str
    """The kind of the parent as an argument of kubectl: in lower case."""
    name: str
    namespace: str

    @classmethod
    def of(cls, parent: Named, kind: Kind) -> "Commands":
        """Return the commands about a parent of this kind."""
        return cls(kind.kind.lower(), parent.name, parent.namespace)

    @property
    def edit(self) -> str:
        """The command that changes the spec of the parent."""
        return f"kubectl edit {self.kind} {self.name} -n {self.namespace}"

    def events_about(self, kind: str, name: str) -> str:
        """Return the command that lists the Events about an object, which may be deleted already."""
        selector = f"involvedObject.kind={kind},involvedObject.name={name}"
        return f"kubectl get events -n {self.namespace} --field-selector {selector}"
