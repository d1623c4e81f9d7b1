"""Several replicas of coxswain in one rig."""

import re
import shutil
import time
from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import Self

from bench.rig import Rig
from cluster.operator_process import OperatorProcess
from cluster.readiness import wait_until

ROLE = Path(__file__).parents[2] / "manifests/components/slots/role.yaml"
BALANCED_SECONDS = 120.0
_HELD = re.compile(r'^leader_election_master_status\{name="[^"]*"\} 1(\.0)?$', re.MULTILINE)


class OperatorGroup:
    """Some operators, which run within the context. The audit log tells them apart by their tokens."""

    def __init__(self, rig: Rig, flags: Sequence[Sequence[str]]) -> None:
        """Prepare an operator with each of these flags."""
        self._rig = rig
        self.processes = [self._operator(number, each) for number, each in enumerate(flags)]

    def _operator(self, number: int, flags: Sequence[str]) -> OperatorProcess:
        directory = self._rig.cluster.directory
        new = self._rig.cluster.service_account_kubeconfig("coxswain-system", "coxswain")
        kubeconfig = Path(shutil.copy(new, directory / f"replica-{number}.yaml"))
        return OperatorProcess(kubeconfig, directory / "logs" / f"replica-{number}.log", flags)

    def __enter__(self) -> Self:
        for each in self.processes:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        for each in self.processes:
            each.stop()

    @property
    def pids(self) -> dict[str, int]:
        """The process ids of those that run, by name."""
        found = {f"replica {number}": each.pid for number, each in enumerate(self.processes)}
        return {name: pid for name, pid in found.items() if pid is not None}


class ReplicaGroup(OperatorGroup):
    """Replicas that share slots."""

    def __init__(self, rig: Rig, number: int, *, slots: int = 1) -> None:
        """Prepare `number` replicas that share `slots` slots."""
        grant = ("--namespace", "coxswain-system", "patch", "role", "coxswain-leader-election")
        rig.cluster.kubectl(*grant, "--type=json", "--patch-file", str(ROLE))
        flags = ("--leader-elect", "--leader-elect-namespace", "coxswain-system", "--slots", str(slots))
        super().__init__(rig, [flags] * number)
        self._slots = slots

    def leader(self) -> OperatorProcess:
        """Return the replica that leads a slot. Call it with one slot, and after `await_balance`."""
        [leader] = [each for each in self.processes if _held(each)]
        return leader

    def await_balance(self) -> float:
        """Wait until all slots are held and no replica has more than its share; return the seconds."""
        started = time.monotonic()
        wait_until("the slots are balanced", self._balanced, [], BALANCED_SECONDS)
        return time.monotonic() - started

    def _balanced(self) -> bool:
        held = [_held(each) for each in self.processes if each.running]
        return sum(held) == self._slots and max(held) <= ceil(self._slots / len(held))


def _held(replica: OperatorProcess) -> int:
    """Return the number of slots that a replica leads."""
    return len(_HELD.findall(replica.metrics()[1]))
