"""Two replicas that share two slots. The first one leads both, until the second one joins."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from signal import Signals

from coxswain.kernel.election.slots import slot_number, slots
from fault_engine.plan import Plan
from fault_engine.run import Case
from fault_engine.stand import Stand
from faults.replicas import LEASE_NAMESPACE, WARM_SECONDS, Pair, Replica, await_true

COUNT = 2
ROLE = Path(__file__).parents[2] / "manifests/components/slots/role.yaml"
OPTIONS = ("--slots", str(COUNT))
_LED = re.compile(r"^leader_election_master_status\{.*\} 1\.0$", re.MULTILINE)


class SlotPair(Pair):
    """The first replica gives the slot of the run's namespace back when the second one joins."""

    def __init__(self, case: Case, stand: Stand, options: Sequence[Sequence[str]] = ((), ())) -> None:
        """Start the first replica; `options` has more options of each."""
        self.slot = slot_number(stand.namespace, COUNT)
        self.lease_name = slots(COUNT)[self.slot].lease_name("coxswain")
        gives = ("--gives", str(self.slot), str(COUNT))
        self._announced = False
        super().__init__(case, stand, ((*OPTIONS, *gives, *options[0]), (*OPTIONS, *options[1])))

    def _begin(self) -> None:
        self._grant()
        for slot in slots(COUNT):
            self._release(slot.lease_name("coxswain"))
        self.standby.proxy.on_kill = self._kill_standby
        self.leader.process.start()
        await_true(lambda: self.led(self.leader) == COUNT, "the first replica leads all slots", WARM_SECONDS)
        self._create()

    def begin_fault(self) -> None:
        """Note the time of the fault, except at the first call: the handover begins only seconds after that.

        The editor edits the canary once after this time, so that nobody leads the slot or the new leader does.
        """
        if self._announced:
            super().begin_fault()
        self._announced = True

    def led(self, replica: Replica) -> int:
        """Return the number of slots that a replica leads."""
        return len(_LED.findall(replica.process.metrics()[1]))

    def join(self) -> None:
        """Start the second replica, and wait until it leads the slot."""
        self.standby.process.start()
        await_true(lambda: self.led(self.standby) == 1, "the second replica leads the slot", WARM_SECONDS)

    def drains(self) -> bool:
        """Whether the first replica gives the slot back, and has in-flight reconciles."""
        return f"slot {self.slot}: leader, giving it back" in self.leader.process.probe("/readyz")[1]

    def inject(self, replica: Replica, plan: Plan) -> None:
        """Set the plan of a replica's proxy."""
        if replica is self.leader:
            self.stand.inject(plan)
        else:
            replica.proxy.set(plan)

    def await_met(self, replica: Replica) -> None:
        """Wait until a fault has met a request of a replica, and lift the plan."""
        await_true(lambda: any(request.fault for request in replica.history().requests), "the fault", WARM_SECONDS)
        replica.proxy.lift()

    def _kill_standby(self) -> None:
        self.standby.process.stop(Signals.SIGKILL)

    def _grant(self) -> None:
        """Grant the rights of the component `slots` besides those of the manifests."""
        kubectl = self.stand.cluster.kubectl
        rules = json.loads(kubectl("get", "role", "coxswain-leader-election", "-n", LEASE_NAMESPACE, "-o", "json"))
        if not any("list" in rule["verbs"] for rule in rules["rules"]):
            patch = ("--type=json", "--patch-file", str(ROLE))
            kubectl("patch", "role", "coxswain-leader-election", "-n", LEASE_NAMESPACE, *patch)
