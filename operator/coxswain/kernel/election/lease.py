"""The Lease of a leader election, and the decision about the next request. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from coxswain.kernel.objects.kinds import Kind
from coxswain.settings import ElectionSettings

LEASE = Kind("coordination.k8s.io", "v1", "Lease", "leases")

_MAXIMUM_TRANSITIONS = 2**31 - 1
"""The field is an int32. The API server refuses a greater number, so nobody could acquire the Lease any more."""

_RELEASED_SECONDS = 1
"""The duration of a released Lease, as in client-go. The API server requires a positive one."""


@dataclass(frozen=True)
class Lease:
    """A Lease as read from the API server."""

    uid: str
    version: int
    """The resourceVersion. It increases with each write, also of other objects of the kind (KEP-5504)."""
    holder: str
    """The identity of the holder; empty if nobody holds it."""
    duration: float
    """Seconds without a renewal after which others may acquire it; 0 if it has none."""
    raw: Mapping[str, Any] = field(compare=False, repr=False, default_factory=dict)

    @property
    def released(self) -> bool:
        """Whether its last holder gave it up. A Lease cleared by hand has its usual duration, and is waited for."""
        return not self.holder and self.duration == _RELEASED_SECONDS


def parse(raw: Mapping[str, Any]) -> Lease:
    """Return the Lease of a response. Anyone with the right may have written any value to it.

    Raises:
        KeyError, TypeError, AttributeError, ValueError, OverflowError: the response is not a Lease.
    """
    metadata, spec = raw["metadata"], raw.get("spec") or {}
    return Lease(
        uid=metadata["uid"],
        version=int(metadata["resourceVersion"]),
        holder=spec.get("holderIdentity") or "",
        duration=float(spec.get("leaseDurationSeconds") or 0),
        raw=raw,
    )


@dataclass(frozen=True)
class Observation:
    """The last known state of the Lease."""

    lease: Lease | None
    """None if it does not exist."""
    since: float
    """The time of its last observed change, in monotonic seconds of this process."""
    restored: bool = False
    """Whether this change brought an older version back, as a restore of etcd does."""


def observe(previous: Observation | None, lease: Lease | None, now: float) -> Observation:
    """Return the observation after a response.

    Any stored write counts as a change, whatever it changed.
    """
    if previous is not None and previous.lease == lease:
        return previous
    before = previous.lease if previous else None
    restored = lease is not None and before is not None and lease.version < before.version
    return Observation(lease, now, restored)


@dataclass(frozen=True)
class Write:
    """Create the Lease or update it: acquire or renew it."""


@dataclass(frozen=True)
class Create:
    """Create the Lease without a holder. It expires like a held one."""


@dataclass(frozen=True)
class Wait:
    """Another process may lead."""

    until: float
    """The expiry of the Lease in monotonic seconds, if it does not change before."""


@dataclass(frozen=True)
class Yield:
    """Another process holds the Lease, so this one must stop to lead."""


Action = Write | Create | Wait | Yield


def decide(observed: Observation, identity: str, *, leading: bool, now: float, settings: ElectionSettings) -> Action:
    """Return the next action.

    A missing Lease may have been deleted while its holder still leads, and a Lease without a holder may have been
    cleared by hand. A candidate waits for the expiry of both, and the leader takes them back meanwhile. Only the
    release of a Lease is trusted, and its own identity in it, but neither if a restore of etcd brought them back.

    Args:
        observed: the Lease as last read.
        identity: the identity of this process.
        leading: whether this process leads.
        now: monotonic seconds of this process.
        settings: the durations.
    """
    lease = observed.lease
    holder = lease.holder if lease else ""
    if leading:
        return Write() if holder in ("", identity) else Yield()
    if lease is None:
        return Create()
    if not observed.restored and (lease.released or holder == identity):
        return Write()
    expiry = observed.since + max(lease.duration, settings.lease_duration)
    return Write() if now >= expiry else Wait(expiry)


def held(lease: Lease | None, identity: str, *, name: str, now: datetime, duration: float) -> dict[str, Any]:
    """Return the manifest that acquires or renews the Lease.

    It differs from the Lease even if the wall clock stands still: the API server does not store a write without
    changes, so other candidates would see no renewal.

    Args:
        lease: the Lease to update, with its uid and resourceVersion as preconditions; None to create it.
        identity: the new holder.
        name: the Lease as namespace/name.
        now: the time for people; no process computes with it.
        duration: seconds without a renewal after which others may acquire it.
    """
    spec = _spec(lease)
    if lease is None or lease.holder != identity:
        transitions = 0 if lease is None else int(spec.get("leaseTransitions") or 0) + 1
        spec |= {"acquireTime": micro_time(now), "leaseTransitions": min(transitions, _MAXIMUM_TRANSITIONS)}
    if spec.get("renewTime") == micro_time(now):
        now += timedelta(microseconds=1)
    spec |= {"holderIdentity": identity, "leaseDurationSeconds": round(duration), "renewTime": micro_time(now)}
    return _manifest(lease, spec, name)


def unheld(*, name: str, duration: float) -> dict[str, Any]:
    """Return the manifest that creates the Lease without a holder."""
    return _manifest(None, {"holderIdentity": "", "leaseDurationSeconds": round(duration)}, name)


def released(lease: Lease, *, name: str, now: datetime) -> dict[str, Any]:
    """Return the manifest that gives the Lease up, with its uid and resourceVersion as preconditions."""
    times = {"acquireTime": micro_time(now), "renewTime": micro_time(now)}
    spec = _spec(lease) | {"holderIdentity": "", "leaseDurationSeconds": _RELEASED_SECONDS} | times
    return _manifest(lease, spec, name)


def _spec(lease: Lease | None) -> dict[str, Any]:
    return dict(lease.raw.get("spec") or {}) if lease else {}


def _manifest(lease: Lease | None, spec: Mapping[str, Any], name: str) -> dict[str, Any]:
    # An update replaces the whole object, so labels and annotations of others are sent back.
    kept = dict(lease.raw["metadata"]) if lease else {}
    kept.pop("managedFields", None)
    namespace, _, plain = name.partition("/")
    metadata = {**kept, "namespace": namespace, "name": plain}
    return {"apiVersion": LEASE.api_version, "kind": LEASE.kind, "metadata": metadata, "spec": spec}


def micro_time(now: datetime) -> str:
    """Return a time as a MicroTime of Kubernetes, in UTC."""
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
