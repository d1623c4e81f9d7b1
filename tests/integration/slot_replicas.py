"""Replicas that share slots, and the times during which each of them held each slot."""

import itertools
import json
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

from cluster import AuditLog, ControlPlane
from cluster.audit import AuditEvent
from cluster.operator_process import OperatorProcess
from coxswain.kernel.election.slots import slot_number
from coxswain.settings import ElectionSettings
from integration.scene import eventually

SYSTEM = "coxswain-system"
WRITES = {"create", "update", "patch", "delete", "deletecollection"}
_HELD = re.compile(r'^leader_election_master_status\{name="coxswain-slot-(\d+)"\} 1\.0$', re.MULTILINE)
_LEASE = re.compile(r"coxswain-slot-(\d+)")


class Replica:
    """One operator process with a user of its own, so that the audit log tells whose requests are whose."""

    def __init__(self, cluster: ControlPlane, name: str, folder: Path, *arguments: str) -> None:
        self.name = name
        self.user = f"system:serviceaccount:{SYSTEM}:{name}"
        kubeconfig = cluster.service_account_kubeconfig(SYSTEM, name)
        self.process = OperatorProcess(kubeconfig, folder / f"{name}.log", ("--leader-elect", *arguments))

    @property
    def slots(self) -> set[int]:
        """The slots that it leads, by its metrics."""
        return {int(number) for number in _HELD.findall(self.process.metrics()[1])}

    @property
    def identities(self) -> set[str]:
        """The identities of its processes so far."""
        found = re.findall(r"acquired the Lease \S+-slot-\d+ as (\S+): ", self.process.log.read_text(encoding="utf-8"))
        return set(found)

    @property
    def roles(self) -> list[str]:
        """The lines about the election on /readyz."""
        return self.process.probe("/readyz")[1].strip().splitlines()[1:]


@dataclass(frozen=True)
class Change:
    """A state of the Lease of a slot, as its writer dated it."""

    slot: int
    holder: str
    acquired: datetime | None
    renewed: datetime | None


class Holders:
    """Watches the Leases of all slots within the context. All processes have the same clock."""

    def __init__(self, cluster: ControlPlane) -> None:
        """Watch within the context."""
        self._api = cluster.pykube()
        self._changes: list[Change] = []
        self._seen: dict[str, int] = {}
        """The latest resourceVersion of each Lease."""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="holders", daemon=True)

    def __enter__(self) -> Self:
        listed = self._get("").json()
        for raw in listed["items"]:
            self._observe(raw)
        self._version = listed["metadata"]["resourceVersion"]
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(10)

    def catch_up(self) -> None:
        """Wait until the watch has delivered the present Leases."""
        items = self._get("").json()["items"]
        present = {raw["metadata"]["name"]: int(raw["metadata"]["resourceVersion"]) for raw in items}
        assert present
        eventually(
            lambda: all(self._seen.get(name, 0) >= version for name, version in present.items()),
            "the watch delivers the Leases",
        )

    def periods(self) -> dict[int, list[tuple[str, datetime, datetime]]]:
        """Return the holders of each slot with the begin and the end of their right to write, until now."""
        deadline = timedelta(seconds=ElectionSettings().renew_deadline)
        found: dict[int, list[tuple[str, datetime, datetime]]] = {}
        for change in list(self._changes):
            periods = found.setdefault(change.slot, [])
            if change.renewed is None:
                continue
            if not change.holder:
                # A release. Nothing is written after it.
                if periods:
                    holder, begin, _ = periods[-1]
                    periods[-1] = holder, begin, change.renewed
            elif periods and periods[-1][0] == change.holder and periods[-1][1] == change.acquired:
                periods[-1] = change.holder, periods[-1][1], change.renewed + deadline
            else:
                assert change.acquired is not None
                periods.append((change.holder, change.acquired, change.renewed + deadline))
        return found

    def _run(self) -> None:
        while not self._over.is_set():
            answer = self._get(f"&watch=true&timeoutSeconds=2&resourceVersion={self._version}")
            for line in answer.iter_lines():
                event = json.loads(line)
                assert event["type"] in ("ADDED", "MODIFIED", "DELETED"), event
                self._version = event["object"]["metadata"]["resourceVersion"]
                self._observe(event["object"])

    def _get(self, more: str) -> Any:
        url = f"leases?labelSelector=coxswain.dev/slots-of=coxswain{more}"
        answer = self._api.get(version="coordination.k8s.io/v1", namespace=SYSTEM, url=url, stream=True)
        answer.raise_for_status()
        return answer

    def _observe(self, raw: Mapping[str, Any]) -> None:
        number = _LEASE.fullmatch(raw["metadata"]["name"])
        assert number is not None, raw["metadata"]["name"]
        spec = raw["spec"]
        times = [datetime.fromisoformat(spec[name]) if name in spec else None for name in ("acquireTime", "renewTime")]
        self._changes.append(Change(int(number[1]), spec.get("holderIdentity", ""), *times))
        self._seen[raw["metadata"]["name"]] = int(raw["metadata"]["resourceVersion"])


def writes(log: AuditLog, replicas: list[Replica]) -> list[tuple[Replica, AuditEvent]]:
    """Return the writes of the replicas since the mark, except those of Leases."""
    users = {each.user: each for each in replicas}
    return [
        (users[event.user], event)
        for event in log.events()
        if event.user in users and event.verb in WRITES and event.resource != "leases"
    ]


def foreign(
    sent: list[tuple[Replica, AuditEvent]], periods: Mapping[int, list[tuple[str, datetime, datetime]]], count: int
) -> list[str]:
    """Return each write of a replica that did not hold the slot of the namespace at that time."""
    found = []
    for replica, event in sent:
        at = datetime.fromisoformat(event.time).astimezone(UTC)
        slot = slot_number(event.namespace, count)
        own = [period for period in periods.get(slot, ()) if period[0] in replica.identities]
        if not any(begin <= at <= end for _, begin, end in own):
            found.append(f"{at} {replica.name} {event.verb} {event.resource} {event.namespace} (slot {slot}): {own}")
    return found


def shared_periods(periods: Mapping[int, list[tuple[str, datetime, datetime]]]) -> list[str]:
    """Return each time during which two processes could write to one slot."""
    return [
        f"slot {slot}: {holder} until {end}, {other} from {begin}"
        for slot, found in periods.items()
        for (holder, _, end), (other, begin, _) in itertools.pairwise(found)
        if begin < end
    ]
