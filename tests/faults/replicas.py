"""Two replicas with leader election, and a user who edits a WebApp once a second."""

import json
import threading
import time
from collections.abc import Callable, Sequence
from signal import Signals
from types import TracebackType
from typing import Self

from requests.exceptions import RequestException

from cluster import KubectlError
from cluster.operator_process import OperatorProcess
from coxswain.settings import ElectionSettings, Settings
from fault_engine.editing import edit
from fault_engine.history import History
from fault_engine.play import canary
from fault_engine.proxy import FaultProxy
from fault_engine.run import Case
from fault_engine.scale import Scale
from fault_engine.script import Edit, Life
from fault_engine.stand import Stand
from faults.scaled_settings import scaled

LEASE_NAMESPACE = "coxswain-system"
ELECTED = ("--leader-elect", "--leader-elect-namespace", LEASE_NAMESPACE)
WARM_SECONDS = 60.0
SETTLED_SECONDS = 40.0
_NOTE = "example.com/edit"
_LOOKS_SECONDS = 0.05


def election_settings(scale: Scale) -> ElectionSettings:
    """Return the operator's durations at a time scale."""
    return scaled(Settings(), scale).election


class Replica:
    """One replica behind a proxy of its own."""

    def __init__(self, name: str, process: OperatorProcess, proxy: FaultProxy) -> None:
        """Name a process and its proxy."""
        self.name = name
        self.process = process
        self.proxy = proxy
        self.retired = False
        """Whether it was stopped for good."""

    def history(self) -> History:
        """Return its requests so far."""
        return self.proxy.snapshot()


class Editor:
    """Edits the WebApp once a second within the context, and the canary once, as soon as the fault has begun."""

    def __init__(self, stand: Stand) -> None:
        """Start within the context."""
        self._stand = stand
        self._over = False
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="editor", daemon=True)
        self._failed: Exception | None = None
        self.sent: list[tuple[float, int]] = []
        """The time and number of each accepted edit."""
        self.fault_at: float | None = None
        self.canary_edited = False

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over = True
        self._wake.set()
        self._thread.join(30)
        if self._failed is not None and error is None:
            raise self._failed

    def begin_fault(self) -> None:
        """Note the time of the fault, and edit the canary."""
        self.fault_at = time.monotonic()
        self._wake.set()

    def _run(self) -> None:
        client = self._stand.cluster.pykube()
        number = 0
        try:
            while True:
                number += 1
                sent = time.monotonic()
                try:
                    if self.fault_at is not None and not self.canary_edited:
                        self._stand.live(canary(2))
                        self.canary_edited = True
                    patch = {"spec": {"service": {"annotations": {_NOTE: str(number)}}}}
                    edit(self._stand, Edit("webapps", "web", patch), client)
                    self.sent.append((sent, number))
                except (RequestException, KubectlError):
                    number -= 1  # the API server is away: the user tries again
                self._wake.wait(max(0.0, sent + 1.0 - time.monotonic()))
                self._wake.clear()
                if self._over:
                    return
        except Exception as error:  # noqa: BLE001 - raised in the thread that ends the edits
            self._failed = error


class Pair:
    """Two replicas, the first of which leads, within a stand."""

    lease_name: str | None = None
    """The Lease that gives the right to write to the namespace of the run; None if there is only one."""

    def __init__(self, case: Case, stand: Stand, options: Sequence[Sequence[str]] = ((), ())) -> None:
        """Start both; `options` has more options of each."""
        self._case = case
        self.stand = stand
        self.settings = election_settings(case.scale)
        self.editor = Editor(stand)
        self.restarts = 0
        self._release("coxswain")
        stand.operator = stand.launch("first.log", options=options[0])
        self.leader = Replica("the first leader", stand.operator, stand.proxy)
        self.replicas = [self.leader]
        self.standby = self.add("the standby", options=options[1])
        self._begin()

    def _begin(self) -> None:
        """Start the replicas, the first one first, and the WebApps."""
        self.leader.process.start()
        await_true(
            lambda: "this process leads" in self.leader.process.logged(), "the first replica leads", WARM_SECONDS
        )
        self.standby.process.start()
        self._create()

    def _create(self) -> None:
        stand = self.stand
        stand.live(Life("create"))
        stand.live(canary(1))
        await_true(self.settled, "the WebApps are Ready", WARM_SECONDS)

    def add(self, name: str, *breaks: str, options: Sequence[str] = ()) -> Replica:
        """Return one more replica, not started, with a proxy of its own."""
        stand = self.stand
        file = name.removeprefix("the ").replace(" ", "-")
        proxy = FaultProxy(stand.cluster.url, stand.cluster.ca_file, stand.folder / f"proxy-{file}")
        proxy.__enter__()
        stand.closing.append(lambda: proxy.__exit__(None, None, None))
        kubeconfig = stand.folder / f"kubeconfig-{file}.yaml"
        proxy.write_kubeconfig(stand.kubeconfig, kubeconfig)
        process = stand.launch(f"{file}.log", *breaks, kubeconfig=kubeconfig, options=options)
        stand.closing.append(lambda: process.stop(Signals.SIGKILL))
        replica = Replica(name, process, proxy)
        self.replicas.append(replica)
        return replica

    def retire(self, replica: Replica) -> None:
        """Stop a replica for good, as the Deployment controller does."""
        replica.retired = True
        assert replica.process.stop() == 0

    def lease(self, *arguments: str) -> str:
        """Run a verb of kubectl on the Lease: the verb, and further arguments."""
        verb, *rest = arguments
        return self.stand.cluster.kubectl("--namespace", LEASE_NAMESPACE, verb, "lease", "coxswain", *rest)

    def _release(self, name: str) -> None:
        """Replace a Lease of an earlier run by a released one, so that the first replica need not wait."""
        kubectl = self.stand.cluster.kubectl
        kubectl("--namespace", LEASE_NAMESPACE, "delete", "lease", name, "--ignore-not-found")
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name, "namespace": LEASE_NAMESPACE},
            "spec": {"holderIdentity": "", "leaseDurationSeconds": 1},
        }
        kubectl("create", "-f", "-", input=json.dumps(lease))

    def settled(self) -> bool:
        """Tell whether both WebApps have a final status."""
        parents = self.stand.end()[self.stand.workload.parent.plural]
        return len(parents) == 2 and all(self.stand.workload.settled(parent) for parent in parents)

    def begin_fault(self) -> None:
        """Note the time of the fault."""
        self.editor.begin_fault()

    def go_on(self, seconds: float) -> None:
        """Continue for some seconds, and restart a replica that has ended, as the kubelet does."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for each in self.replicas:
                if not (each.retired or each.process.running):
                    self.restarts += 1
                    each.process.start(wait=False)
            time.sleep(_LOOKS_SECONDS)

    def applied(self) -> list[tuple[float, int]]:
        """Return the times and numbers of the edits that the Service had."""
        found: list[tuple[float, int]] = []
        for change in self.stand.witness.changes():
            if (change.resource, change.name) == ("services", "web"):
                number = int(change.object["metadata"].get("annotations", {}).get(_NOTE, 0))
                if number and (not found or found[-1][1] != number):
                    found.append((change.at, number))
        return found

    def await_applied(self, number: int) -> bool:
        """Wait until an edit is applied; return False after a time-out."""
        return is_true(lambda: any(edit >= number for _, edit in self.applied()[-1:]), SETTLED_SECONDS)

    def canary_follows(self) -> bool:
        """Tell whether the edit of the canary is applied."""
        stand = self.stand
        return stand.workload.follows_life(canary(2), stand.end()[stand.workload.main.plural]) is None


def is_true(check: Callable[[], bool], seconds: float) -> bool:
    """Wait until a check holds; return False after a time-out."""
    deadline = time.monotonic() + seconds
    while not check():
        if time.monotonic() > deadline:
            return False
        time.sleep(_LOOKS_SECONDS)
    return True


def await_true(check: Callable[[], bool], what: str, seconds: float) -> None:
    """Wait until a check holds.

    Raises:
        AssertionError: the check does not hold within `seconds`.
    """
    assert is_true(check, seconds), f"not within {seconds:.0f} s: {what}"
