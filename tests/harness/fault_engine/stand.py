"""The stand of a run: a namespace, an operator behind the proxy, and a witness."""

import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from signal import Signals
from types import TracebackType
from typing import Any, Self

import yaml

from cluster import AuditEvent, ControlPlane, KubectlError
from cluster.operator_process import OperatorProcess
from fault_engine.evidence import Evidence
from fault_engine.idle import is_idle
from fault_engine.placeholders import filled
from fault_engine.plan import Plan
from fault_engine.proxy import FaultProxy
from fault_engine.scale import Scale
from fault_engine.script import Life
from fault_engine.secret import SECRET
from fault_engine.tokens import Tokens
from fault_engine.witness import Witness, list_all
from fault_engine.workload import Workload

_PAUSE_SECONDS = 0.15
"""The pause between two checks of the objects."""
_UNCHANGED_SECONDS = 1.0
"""The same while no object changes."""
_LOOK_SECONDS = 0.05
_KILLED, _ENDED, _STOPPED, _GOES_ON = Signals.SIGKILL, Signals.SIGTERM, Signals.SIGSTOP, Signals.SIGCONT


@dataclass(frozen=True)
class Choices:
    """How to start the operator of a run."""

    scale: Scale
    broken: str | None = None
    """The name of a break; None for the unchanged operator."""
    proxied: bool = True
    """False: the operator talks to the API server directly."""
    clusterwide: bool = False
    """Whether it serves all namespaces, instead of the run's only."""
    resync: bool = False
    """Whether it does its periodic resync. Without it, the operator finds only changes with an event."""
    options: tuple[str, ...] = ()
    """More options of the program; `{folder}` is the folder of the run."""
    besides: tuple[str, ...] = ()
    """More namespaces to serve; `{namespace}` is the run's. They need not exist."""


class Stand:
    """The namespace, the operator and the proxy of one run."""

    def __init__(
        self, cluster: ControlPlane, workload: Workload, namespace: str, choices: Choices, folder: Path
    ) -> None:
        """Use an existing folder for the files of the run."""
        self.cluster = cluster
        self.workload = workload
        self.words = {**workload.words, "namespace": namespace}
        """The placeholders of scripts."""
        self.namespace = namespace
        self.choices = choices
        self.folder = folder
        self.faults = 0
        self.edits = 0
        self.besides = tuple(name.replace("{namespace}", namespace) for name in choices.besides)
        self.closing: list[Callable[[], object]] = []
        """Functions to call at the end."""
        self.rival: OperatorProcess | None = None
        """A second operator in the same namespace."""
        self.webhook: Any = None
        """An admission webhook of the test."""
        self._up = False

    def __enter__(self) -> Self:
        self.cluster.kubectl("create", "namespace", self.namespace)
        self.kubectl("create", "secret", "generic", "credentials", f"--from-literal=PASSWORD={SECRET}")
        self._audit = self.cluster.audit()
        self._audited: list[AuditEvent] = []
        self.proxy = FaultProxy(self.cluster.url, self.cluster.ca_file, self.folder)
        self.proxy.__enter__()
        self.proxy.on_kill = self._kill_and_start
        self.witness = Witness(self.cluster, self.namespace, self.workload.resources)
        self.witness.__enter__()
        self.tokens = Tokens(self.cluster, self.workload.account, self.namespace, self.folder / "token")
        self.tokens.issue()
        self.operator = self._make_operator()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.operator.stop(_KILLED)
        for close in reversed(self.closing):
            close()
        self.witness.__exit__(kind, error, trace)
        self.proxy.__exit__(kind, error, trace)
        self.tokens.close()
        self.cluster.kubectl("delete", "namespace", self.namespace, "--wait=false", check=False)

    def _make_operator(self) -> OperatorProcess:
        kubeconfig = self.kubeconfig
        config = yaml.safe_load(self.cluster.kubeconfig.read_text(encoding="utf-8"))
        config["users"][0]["user"] = {"tokenFile": str(self.tokens.file.absolute())}
        kubeconfig.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
        if self.choices.proxied:
            self.proxy.write_kubeconfig(kubeconfig, kubeconfig)
        return self.launch("operator.log")

    def launch(
        self, log: str, *breaks: str, kubeconfig: Path | None = None, options: Sequence[str] = ()
    ) -> OperatorProcess:
        """Return an operator, not started, with its log file in the run's folder, and with more breaks and options."""
        broken = [option for name in (self.choices.broken, *breaks) if name for option in ("--break", name)]
        resync = () if self.choices.resync else ("--never-resync",)
        scale = ("--scale", str(self.choices.scale.factor))
        folder = str(self.folder.absolute())
        more = [option.replace("{folder}", folder) for option in (*self.choices.options, *options)]
        program = (*self.workload.program, *scale, *resync, *more, *broken)
        names = ",".join((self.namespace, *self.besides))
        served = () if self.choices.clusterwide else ("--namespace", names)
        arguments = (*served, "--log-level", "debug")
        return OperatorProcess(kubeconfig or self.kubeconfig, self.folder / log, arguments, program=program)

    @property
    def kubeconfig(self) -> Path:
        """The operator's kubeconfig."""
        return self.folder / "kubeconfig.yaml"

    def kubectl(self, *arguments: str, object: Any = None) -> str:  # noqa: A002 - kubectl's own word
        """Run kubectl in the namespace, directly on the API server, with the placeholders replaced."""
        given = None if object is None else json.dumps(filled(object, self.words))
        named = filled(arguments, self.words)
        return self.cluster.kubectl("--namespace", self.namespace, *named, input=given)

    def live(self, life: Life) -> None:
        """Run the commands of a step of a life."""
        for step in self.workload.steps(life):
            self.kubectl(*step.arguments, object=step.object)

    def do(self, what: str) -> None:
        """Change the state of the operator's process: kill, stop, pause, resume or start."""
        if what in ("start", "kill", "stop"):
            self._up = what == "start"
        if what == "start":
            self.proxy.mark("operator started")
            self.operator.start(wait=False)
        elif what == "kill":
            self.operator.stop(_KILLED)
            self.proxy.mark("operator killed")
        elif what == "stop":
            self.operator.stop(_ENDED)
            self.proxy.mark("operator stopped")
        else:
            self.operator.send(_STOPPED if what == "pause" else _GOES_ON)
            self.proxy.mark(f"operator {what}d")

    def _kill_and_start(self) -> None:
        """Kill the operator, and restart it like a kubelet."""
        self.faults += 1
        self.do("kill")
        self.do("start")

    def do_to_program(self, name: str, what: str) -> None:
        """Change the state of a program of the control plane."""
        self.proxy.mark(f"{name}: {what}")
        if what == "start":
            self.cluster.start_program(name)
            self.proxy.mark(f"{name} is back")
        elif what in ("kill", "stop"):
            self.cluster.stop_program(name, _KILLED if what == "kill" else _ENDED)
        else:
            self.cluster.signal_program(name, _STOPPED if what == "pause" else _GOES_ON)

    def inject(self, plan: Plan) -> None:
        """Set a plan."""
        self.faults += 1
        self.proxy.mark("faults begin")
        self.proxy.set(filled(plan, self.words))

    def not_met(self) -> list[str]:
        """Return a sentence until the current plan has matched a request."""
        history = self.proxy.snapshot()
        begun = max(mark.at for mark in history.marks if mark.what == "faults begin")
        met = any(request.fault and request.at >= begun for request in history.requests)
        return [] if met else ["the plan has matched no request"]

    def lift(self) -> None:
        """End the faults of the proxy."""
        self.proxy.lift()
        self.proxy.mark("faults end")

    def audited(self) -> list[AuditEvent]:
        """Return the audited requests of all users since the run began."""
        self._audited += self._audit.events()
        return self._audited

    def written(self, since: int) -> list[AuditEvent]:
        """Return the operator's successful writes in the namespace, after the first `since` audited requests."""
        return [
            event
            for event in self.audited()[since:]
            if event.user == self.workload.user
            and event.namespace == self.namespace
            and event.verb not in ("get", "list", "watch")
            and 200 <= event.code < 300
        ]

    def end(self) -> dict[str, list[dict[str, Any]]]:
        """Return all current objects of the run."""
        return list_all(self.cluster, self.namespace, self.workload.resources)

    def quiet(self, seconds: float, timeout: float) -> bool:
        """Wait until nobody has changed anything for `seconds`. Return False after the timeout.

        A refused write changes nothing; O3 judges how often it is repeated.
        """
        deadline = time.monotonic() + timeout
        seen = (-1, -1)
        since = time.monotonic()
        while time.monotonic() < deadline:
            now = (len(self.witness.changes()), len(self.written(0)))
            if now != seen:
                seen, since = now, time.monotonic()
            elif time.monotonic() - since >= seconds:
                return True
            time.sleep(0.1)
        return False

    def at_rest(self, seconds: float, timeout: float) -> bool:
        """Wait until nobody has changed anything for `seconds` and the operator's workqueue is empty.

        On a busy machine the operator may take longer than `seconds` for a change. Return False after the timeout.
        """
        deadline = time.monotonic() + timeout
        while self.quiet(seconds, deadline - time.monotonic()):
            changes = self.witness.count
            if is_idle(self.operator) and self.witness.count == changes:
                return True
        return False

    def evidence(self, quiet_since: float | None) -> Evidence:
        """Return the evidence for the oracles."""
        self.witness.caught_up(30)
        pages = [self.operator.probe(path)[1] for path in ("/healthz", "/readyz")] + [self.operator.metrics()[1]]
        return Evidence(
            workload=self.workload,
            namespace=self.namespace,
            history=self.proxy.snapshot(),
            changes=self.witness.changes(),
            audit=[event for event in self.audited() if self._is_about(event)],
            end=self.end(),
            logs=self.operator.log.read_text(errors="replace") if self.operator.log.exists() else "",
            pages=pages,
            secrets=(SECRET,),
            quiet_since=quiet_since,
            faults=self.faults,
            edits=self.edits,
            patience=self.choices.scale.patience(1.0),
            served=self.besides,
        )

    @property
    def ended(self) -> str:
        """How the operator's process exited by itself; empty if it did not."""
        if not self._up or self.operator.running:
            return ""
        return f"the operator's process exited by itself: {self.operator.logged()[-400:]}"

    @property
    def peak(self) -> int:
        """The peak resident memory of the operator's current process, in bytes; 0 if it is not running."""
        try:
            status = Path(f"/proc/{self.operator.pid}/status").read_text(encoding="utf-8")
        except OSError:
            return 0
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        return int(found[1]) * 1024 if found else 0

    def _is_about(self, event: AuditEvent) -> bool:
        """Tell whether an event belongs to this run. Only one operator runs in a cluster at a time.

        An operator for all namespaces also handles objects of earlier runs, so its namespaced events are filtered.
        """
        mine = event.user == self.workload.user and not (self.choices.clusterwide and event.namespace)
        return mine or event.namespace == self.namespace


def eventually_equal(
    check: Callable[[], list[str]], timeout: float, *, changes: Callable[[], int] | None = None
) -> list[str]:
    """Repeat a check until it finds no difference; return the last differences after `timeout` seconds.

    If the result depends on the objects of the run only, `changes` returns the number of their changes. The check is
    then repeated after a change, or after a second: it lists all of them, and they change seldom.
    """
    deadline = time.monotonic() + timeout
    while True:
        seen = changes() if changes is not None else 0
        try:
            found = check()
        except (OSError, KubectlError) as error:
            found = [f"the cluster cannot be read: {error}"]
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(_PAUSE_SECONDS)
        if changes is not None:
            rest = min(deadline, time.monotonic() + _UNCHANGED_SECONDS)
            while changes() == seen and time.monotonic() < rest:
                time.sleep(_LOOK_SECONDS)
