"""Weather: troubles between the operator and the API server, each for a time; and whether any excuses a delay."""

from collections import Counter
from dataclasses import dataclass, field

from simulation.cluster import CHILDREN

READS, WRITES = ("GET",), ("POST", "PATCH", "PUT", "DELETE")


@dataclass
class Trouble:
    """Something that goes wrong for a while."""

    kind: str
    until: float
    methods: tuple[str, ...] = READS + WRITES
    plural: str | None = None
    namespace: str | None = None
    subresource: str | None = None
    """Only this subresource; "" means the object itself."""
    probability: float = 1.0
    seconds: float = 0.0
    """Of a pause that is asked for, or of a delay."""
    name: str | None = None
    """Only objects of this name."""
    met: int = 0
    since: float = 0.0

    def concerns(
        self, method: str, plural: str, namespace: str | None, subresource: str | None, name: str | None = None
    ) -> bool:
        """Tell whether a request may meet it."""
        return (
            method in self.methods
            and self.plural in (None, plural)
            and (self.namespace is None or self.namespace == namespace)
            and self.name in (None, name)
            and (self.subresource is None or self.subresource == (subresource or ""))
        )


@dataclass
class Weather:
    """All troubles of one run."""

    troubles: list[Trouble] = field(default_factory=list)
    met: Counter[str] = field(default_factory=Counter)
    """How often a request or a watch met a trouble, by its kind."""
    cleared: float = -1e9
    """When the last trouble that concerns everything ended."""
    met_at: dict[str, float] = field(default_factory=dict)

    def add(self, trouble: Trouble) -> None:
        """Let a trouble begin."""
        self.troubles.append(trouble)

    def meeting(
        self,
        now: float,
        method: str,
        plural: str,
        namespace: str | None,
        *,
        subresource: str | None = None,
        name: str | None = None,
    ) -> list[Trouble]:
        """Return the troubles that a request may meet now."""
        if not self.troubles:
            return []
        self.troubles = [each for each in self.troubles if each.until > now]
        return [each for each in self.troubles if each.concerns(method, plural, namespace, subresource, name)]

    def meet(self, trouble: Trouble, now: float) -> None:
        """Count that a trouble was met."""
        trouble.met += 1
        self.met[trouble.kind] += 1
        self.met_at[trouble.kind] = now

    def active(self, now: float) -> list[Trouble]:
        """Return the troubles of now."""
        return [each for each in self.troubles if each.until > now]


def is_general(kind: str, plural: str | None) -> bool:
    """Tell whether a trouble excuses everything: reads that are paused are no excuse for writes."""
    if kind in ("reads paused", "refusing policy", "changing policy", "garbled", "hidden"):
        return False
    if kind in ("always a conflict", "always not found", "invalid", "lost answer") and plural is not None:
        return False
    if kind.startswith("no right to"):
        return kind.endswith((" get", " list", " watch")) or plural == "webapps"
    return not (kind in ("time-out", "internal error") and plural in CHILDREN)


_BLOCKING = ("refusing policy", "changing policy", "garbled", "hidden", "time-out", "internal error", "invalid")


def blocks(kind: str) -> bool:
    """Tell whether a trouble keeps writes to its resource from coming about."""
    return kind in _BLOCKING or kind.startswith(("always", "no right to"))
