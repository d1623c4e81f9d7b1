"""The active faults between a client and the API server, each for a limited time."""

from collections import Counter
from dataclasses import dataclass, field

READS, WRITES = ("GET",), ("POST", "PATCH", "PUT", "DELETE")


@dataclass
class Fault:
    """A fault of requests or watches until a deadline."""

    kind: str
    until: float
    methods: tuple[str, ...] = READS + WRITES
    plural: str | None = None
    namespace: str | None = None
    subresource: str | None = None
    """Only this subresource; "" means the main resource."""
    probability: float = 1.0
    seconds: float = 0.0
    """The duration of a delay, or the Retry-After of a refusal."""
    name: str | None = None
    """Only objects with this name."""
    since: float = 0.0
    client: int | None = None
    """Only requests of this client."""

    def concerns(
        self,
        method: str,
        plural: str,
        namespace: str | None,
        subresource: str | None,
        *,
        name: str | None = None,
        client: int | None = None,
    ) -> bool:
        """Return whether the fault applies to a request."""
        return (
            method in self.methods
            and self.plural in (None, plural)
            and (self.namespace is None or self.namespace == namespace)
            and self.name in (None, name)
            and self.client in (None, client)
            and (self.subresource is None or self.subresource == (subresource or ""))
        )


@dataclass
class ActiveFaults:
    """The faults of one run."""

    all: list[Fault] = field(default_factory=list)
    met: Counter[str] = field(default_factory=Counter)
    """The number of affected requests and watches, by kind of fault."""
    met_at: dict[str, float] = field(default_factory=dict)
    """The last time that a request or watch was affected, by kind of fault."""

    until: dict[str, float] = field(default_factory=dict)
    """The end of the last fault of each resource, also in the past."""

    def add(self, fault: Fault) -> None:
        """Add a fault."""
        self.all.append(fault)
        if fault.plural is not None:
            self.until[fault.plural] = max(fault.until, self.until.get(fault.plural, 0.0))

    def matching(
        self,
        now: float,
        method: str,
        plural: str,
        namespace: str | None,
        *,
        subresource: str | None = None,
        name: str | None = None,
        client: int | None = None,
    ) -> list[Fault]:
        """Return the active faults that apply to a request."""
        if not self.all:
            return []
        self.all = [each for each in self.all if each.until > now]
        return [
            each for each in self.all if each.concerns(method, plural, namespace, subresource, name=name, client=client)
        ]

    def count(self, fault: Fault, now: float) -> None:
        """Count an affected request or watch."""
        self.met[fault.kind] += 1
        self.met_at[fault.kind] = now

    def active(self, now: float) -> list[Fault]:
        """Return the active faults."""
        return [each for each in self.all if each.until > now]
