"""Where a run happens: a namespace, an operator of its own behind the proxy, and a witness beside it."""

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from signal import Signals
from types import TracebackType
from typing import Any, Self

import yaml

from cluster import AuditEvent, ControlPlane, KubectlError
from cluster.operator_process import OperatorProcess
from faults.evidence import Evidence, collect_end
from faults.plan import Plan
from faults.proxy import FaultProxy
from faults.scale import Scale
from faults.secret import SECRET
from faults.tokens import Tokens
from faults.witness import Witness
from integration.scene import OPERATOR

_KILLED, _ENDED, _STOPPED, _GOES_ON = Signals.SIGKILL, Signals.SIGTERM, Signals.SIGSTOP, Signals.SIGCONT


@dataclass(frozen=True)
class Choices:
    """How the operator of a run is started."""

    scale: Scale
    broken: str | None = None
    """The break of `faults.breaks`; None for the operator as it is."""
    proxied: bool = True
    """False: the operator talks to the API server itself."""
    clusterwide: bool = False
    """Whether it serves all namespaces, and not that of the run alone."""
    resync: bool = False
    """Whether it sweeps all kinds now and then. Without, what no event tells is never found."""
    options: tuple[str, ...] = ()
    """Further options of `faults.launch`; `{folder}` is the run's."""
    besides: tuple[str, ...] = ()
    """Other namespaces that it serves, with `{namespace}` for the run's. They need not be there."""


class Stand:
    """One namespace and all that belongs to a run."""

    def __init__(self, cluster: ControlPlane, namespace: str, choices: Choices, folder: Path) -> None:
        """Keep what the run leaves behind in a folder that is there."""
        self.cluster = cluster
        self.namespace = namespace
        self.choices = choices
        self.folder = folder
        self.faults = 0
        self.edits = 0
        self.besides = tuple(name.replace("{namespace}", namespace) for name in choices.besides)
        self.closing: list[Callable[[], object]] = []
        """What is done at the end."""
        self.rival: OperatorProcess | None = None
        """An operator beside it."""
        self.webhook: Any = None
        """An admission webhook of the test's."""
        self._up = False

    def __enter__(self) -> Self:
        self.cluster.kubectl("create", "namespace", self.namespace)
        self.kubectl("create", "secret", "generic", "credentials", f"--from-literal=PASSWORD={SECRET}")
        self._audit = self.cluster.audit()
        self._audited: list[AuditEvent] = []
        self.proxy = FaultProxy(self.cluster.url, self.cluster.ca_file, self.folder)
        self.proxy.__enter__()
        self.proxy.on_kill = self._kill_and_start
        self.witness = Witness(self.cluster, self.namespace)
        self.witness.__enter__()
        self.tokens = Tokens(self.cluster, self.namespace, self.folder / "token")
        self.tokens.hand_out()
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

    def launch(self, log: str, *breaks: str) -> OperatorProcess:
        """Return an operator, not started, that writes to a log of the run, with breaks besides that of the run."""
        broken = [option for name in (self.choices.broken, *breaks) if name for option in ("--break", name)]
        swept = () if self.choices.resync else ("--never-resync",)
        scale = ("--scale", str(self.choices.scale.factor))
        options = [option.replace("{folder}", str(self.folder.absolute())) for option in self.choices.options]
        program = ("faults.launch", *scale, *swept, *options, *broken)
        names = ",".join((self.namespace, *self.besides))
        served = () if self.choices.clusterwide else ("--namespace", names)
        return OperatorProcess(self.kubeconfig, self.folder / log, (*served, "--log-level", "debug"), program=program)

    @property
    def kubeconfig(self) -> Path:
        """The operator's kubeconfig."""
        return self.folder / "kubeconfig.yaml"

    def kubectl(self, *arguments: str, object: Any = None) -> str:  # noqa: A002 - kubectl's own word
        """Run kubectl in the namespace, straight to the API server; `{namespace}` is replaced by its name."""
        given = None if object is None else json.dumps(object).replace("{namespace}", self.namespace)
        named = (argument.replace("{namespace}", self.namespace) for argument in arguments)
        return self.cluster.kubectl("--namespace", self.namespace, *named, input=given)

    def do(self, what: str) -> None:
        """Do something to the operator: kill, stop, pause, resume or start."""
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
        """Kill the operator, and start it as a kubelet would."""
        self.faults += 1
        self.do("kill")
        self.do("start")

    def do_to_program(self, name: str, what: str) -> None:
        """Do something to a program of the control plane."""
        self.proxy.mark(f"{name}: {what}")
        if what == "start":
            self.cluster.start_program(name)
            self.proxy.mark(f"{name} is back")
        elif what in ("kill", "stop"):
            self.cluster.stop_program(name, _KILLED if what == "kill" else _ENDED)
        else:
            self.cluster.signal_program(name, _STOPPED if what == "pause" else _GOES_ON)

    def inject(self, plan: Plan) -> None:
        """Put a plan in force."""
        self.faults += 1
        self.proxy.mark("faults begin")
        self.proxy.set(plan)

    def not_met(self) -> list[str]:
        """Return a sentence until the plan in force has met a request."""
        history = self.proxy.snapshot()
        begun = max(mark.at for mark in history.marks if mark.what == "faults begin")
        met = any(request.fault and request.at >= begun for request in history.requests)
        return [] if met else ["the plan has met no request"]

    def lift(self) -> None:
        """End what the proxy does."""
        self.proxy.lift()
        self.proxy.mark("faults end")

    def audited(self) -> list[AuditEvent]:
        """Return all requests of anybody since the run began."""
        self._audited += self._audit.events()
        return self._audited

    def written(self, since: int) -> list[AuditEvent]:
        """Return what the operator has written here, of all but the first so many audited requests."""
        return [
            event
            for event in self.audited()[since:]
            if event.user == OPERATOR
            and event.namespace == self.namespace
            and event.verb not in ("get", "list", "watch")
            and 200 <= event.code < 300
        ]

    def end(self) -> dict[str, list[dict[str, Any]]]:
        """Return all objects of the run as they are now."""
        return collect_end(self.cluster, self.namespace)

    def quiet(self, seconds: float, timeout: float) -> bool:
        """Wait until neither the operator nor anybody else has changed anything for so long; tell whether it was so.

        A write that is refused changes nothing: O3 judges how often it is tried.
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

    def evidence(self, quiet_since: float | None) -> Evidence:
        """Return all that the oracles judge by."""
        self.witness.caught_up(30)
        pages = [self.operator.probe(path)[1] for path in ("/healthz", "/readyz", "/metrics")]
        return Evidence(
            namespace=self.namespace,
            user=OPERATOR,
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
        """How the operator's process ended although nobody ended it; empty if it didn't."""
        if not self._up or self.operator.running:
            return ""
        return f"the operator's process ended by itself: {self.operator.logged()[-400:]}"

    @property
    def peak(self) -> int:
        """The most resident memory that the present life of the operator had, in bytes; 0 if it doesn't run."""
        try:
            status = Path(f"/proc/{self.operator.pid}/status").read_text(encoding="utf-8")
        except OSError:
            return 0
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        return int(found[1]) * 1024 if found else 0

    def _is_about(self, event: AuditEvent) -> bool:
        """Tell what belongs to this run: only one operator runs in a cluster at a time.

        One that serves all namespaces still meets with what earlier runs have left.
        """
        mine = event.user == OPERATOR and not (self.choices.clusterwide and event.namespace)
        return mine or event.namespace == self.namespace


def eventually_equal(check: Callable[[], list[str]], timeout: float, pause: float = 0.15) -> list[str]:
    """Wait until a check finds no difference; return the last ones after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            found = check()
        except (OSError, KubectlError) as error:
            found = [f"the cluster can't be asked: {error}"]
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(pause)
