"""The state of a script while it is built at random. It allows only operations with a deterministic end state.

The reference of a script is its run without faults, so it must have exactly one outcome. Operations that race have
several outcomes, and are separated by a Settle (`_WebApp.operations`). Above all: two templates of one Deployment (the
first ReplicaSet may never be created), a template and a scaling (annotations of the old ReplicaSet show their order),
a deletion and the removal of an owner reference (the child may stay forever). Everything else mixes: drift of the
children, the life of the other WebApp, deletion during creation, recreation, and every fault.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from cluster.disasters import CLIENTS
from fault_engine.plan import Hide, Kill, Rule
from fault_engine.script import Inject, Kubectl, Lift, Operator, Program, Script, Settle, Step, apply, kubectl, patch
from faults import lives

SETTLE_SECONDS = 40.0
LONG_SETTLE_SECONDS = 100.0
"""For scripts with hidden events: only the next resync finds the hidden changes."""
_COLLECTED = {"delete", "delete deployment"}
"""Operations that the garbage collector completes. They are not combined with a kill of the API server, after which it
left pods of a ReplicaSet for more than 100 s. The operator does not own these pods."""

WEBAPPS = ("web", "shop")
VERSIONS: tuple[dict[str, Any], ...] = (
    {},
    {"config": {"GREETING": "good morning"}, "env": []},
    {"config": {}, "ports": []},
)
"""The spec of a WebApp except its image; the last one needs neither Service nor ConfigMap."""
REPLICAS = (2, 0, 3)

_DRIFT: dict[str, dict[str, tuple[Kubectl, ...]]] = {
    name: {
        "delete service": (kubectl("delete", "service", name, "--ignore-not-found", "--wait=false"),),
        "delete serviceaccount": (kubectl("delete", "serviceaccount", name, "--ignore-not-found", "--wait=false"),),
        "delete configmap": (kubectl("delete", "configmap", "-l", f"coxswain.dev/webapp={name}", "--wait=false"),),
        "delete deployment": (kubectl("delete", "deployment", name, "--cascade=foreground", "--wait=false"),),
        "edit service": (patch("service", name, {"spec": {"selector": {"edited": "yes"}}}),),
        "edit serviceaccount": (patch("serviceaccount", name, {"metadata": {"annotations": {"foreign": "stays"}}}),),
        "edit deployment": (patch("deployment", name, {"spec": {"replicas": 5}}),),
        "strip label service": (kubectl("label", "service", name, "coxswain.dev/webapp-"),),
        "strip label serviceaccount": (kubectl("label", "serviceaccount", name, "coxswain.dev/webapp-"),),
        "strip label deployment": (kubectl("label", "deployment", name, "coxswain.dev/webapp-"),),
        "strip label configmap": (
            kubectl("label", "configmap", "-l", f"coxswain.dev/webapp={name}", "coxswain.dev/webapp-"),
        ),
        "strip owner service": (patch("service", name, {"metadata": {"ownerReferences": None}}),),
        "strip owner serviceaccount": (patch("serviceaccount", name, {"metadata": {"ownerReferences": None}}),),
    }
    for name in WEBAPPS
}


@dataclass
class _WebApp:
    """The state of one WebApp at a point of the script."""

    name: str
    there: bool = False
    life: int = 0
    """Each life has its own images, so that a new ReplicaSet never has the name of a former one."""
    version: int = 0
    replicas: int = REPLICAS[0]
    paused: bool = False
    done: set[str] = field(default_factory=set)
    """The operations on it since the last Settle."""

    def spec(self) -> dict[str, Any]:
        """Return its current spec."""
        image = f"registry.example/{self.name}:{self.life}.{self.version}"
        spec = {**lives.SPEC, **VERSIONS[self.version], "image": image, "replicas": self.replicas}
        return {**spec, "paused": True} if self.paused else spec

    def operations(self) -> Iterator[str]:
        """Yield the operations that are allowed now."""
        if not self.there:
            yield "create"
            return
        if self.done <= {"create", "delete", "change", "scale"}:
            yield "delete"
        yield from self._edits()
        if not self.paused and not self.done & {"create", "delete", "change", "pause", "resume"}:
            yield from self._drift()

    def _edits(self) -> Iterator[str]:
        harmless = {done for done in self.done if done.startswith(("delete s", "edit s"))}
        if self.done <= harmless | {"scale"}:
            yield from (f"scale to {count}" for count in REPLICAS if count != self.replicas)
        if self.done <= harmless:
            yield from (f"change to {version}" for version in range(len(VERSIONS)) if version != self.version)
        if not self.done:
            yield "resume" if self.paused else "pause"

    def _drift(self) -> Iterator[str]:
        wanted = {"serviceaccount", "deployment"}
        wanted |= {"service"} if self.spec()["ports"] else set()
        wanted |= {"configmap"} if self.spec()["config"] else set()
        for operation in _DRIFT[self.name]:
            child = operation.rpartition(" ")[2]
            alone = child in ("deployment", "configmap")
            gone = f"delete {child}" in self.done
            if child in wanted and not gone and not (alone and self.done):
                yield operation

    def do(self, operation: str) -> tuple[Kubectl, ...]:
        """Record an operation, and return its commands."""
        what, _, to = operation.partition(" to ")
        self.done.add(what)
        if operation in _DRIFT[self.name]:
            return _DRIFT[self.name][operation]
        if what == "delete":
            self.there = False
            return (kubectl("delete", "webapp", self.name, "--wait=false"),)
        if what == "scale":
            self.replicas = int(to)
            return (kubectl("scale", "webapp", self.name, f"--replicas={to}"),)
        if what == "create":
            self.there, self.life, self.version, self.replicas, self.paused = True, self.life + 1, 0, REPLICAS[0], False
        elif what == "change":
            self.version = int(to)
        else:
            self.paused = what == "pause"
        return (apply(lives.webapp(self.spec(), self.name)),)


class Plot:
    """A script while it is built: returns the allowed operations, and ends all faults at the end."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.webapps = {name: _WebApp(name) for name in WEBAPPS}
        self.operator = "runs"
        self.injected = False
        self.kills = False
        """Whether a rule with Kill was set since the last Settle. No other step may then kill or start the operator."""
        self.hides = False
        self.collected = False
        self.api_server_restarted = False
        """Once in a script, because it takes long, also for the control plane's own clients."""

    @property
    def unsettled(self) -> bool:
        """Whether users have changed anything since the last Settle."""
        return any(webapp.done for webapp in self.webapps.values())

    @property
    def gap(self) -> bool:
        """Whether the operator may miss changes now."""
        return self.injected or self.operator != "runs"

    def operations(self) -> list[tuple[str, str]]:
        """Return the allowed operations with the names of their WebApps."""
        without = _COLLECTED if self.api_server_restarted else set[str]()
        return [
            (operation, name)
            for name, webapp in self.webapps.items()
            for operation in webapp.operations()
            if operation not in without
        ]

    def operate(self, operation: str, name: str) -> None:
        """Append an operation of a user."""
        self.steps += self.webapps[name].do(operation)
        self.collected |= operation in _COLLECTED

    def inject(self, *rules: Rule) -> None:
        """Append an injection of faults."""
        self.steps.append(Inject(rules))
        self.injected = True
        self.kills |= any(isinstance(found.action, Kill) for found in rules)
        self.hides |= any(isinstance(found.action, Hide) for found in rules)

    def lift(self) -> None:
        """Append the end of the faults."""
        self.steps.append(Lift())
        self.injected = False

    def take_down(self, how: str) -> None:
        """Kill, stop or pause the operator."""
        self.steps.append(Operator("kill" if how == "kill" else "stop" if how == "stop" else "pause"))
        self.operator = "is paused" if how == "pause" else "is down"

    def bring_up(self) -> None:
        """Resume or start the operator."""
        self.steps.append(Operator("resume" if self.operator == "is paused" else "start"))
        self.operator = "runs"

    def restart_api_server(self) -> None:
        """Append a kill and a start of the API server; users can do nothing in between.

        Its other clients are paused. Otherwise the controller manager, with the garbage collector, could delay its next
        attempt by a minute, which would count as recovery time.
        """
        self.steps += (
            *(Program(name, "pause") for name in CLIENTS),
            Program("kube-apiserver", "kill"),
            Program("kube-apiserver", "start"),
            *(Program(name, "resume") for name in CLIENTS),
        )
        self.api_server_restarted = True

    def settle(self) -> None:
        """End all faults, and wait until the run equals the reference."""
        if self.operator != "runs":
            self.bring_up()
        if self.injected:
            self.lift()
        self.steps.append(Settle(LONG_SETTLE_SECONDS if self.hides or self.api_server_restarted else SETTLE_SECONDS))
        self.kills = self.hides = False
        for webapp in self.webapps.values():
            webapp.done.clear()

    def script(self) -> Script:
        """Return the script, with all faults ended."""
        if not self.steps or not isinstance(self.steps[-1], Settle):
            self.settle()
        return tuple(self.steps)


def counts_hold(script: Script) -> bool:
    """Tell whether O2 can judge a script: whether the number of creations and deletions is deterministic.

    This holds if users do one operation at a time, and none that creates temporary pods.
    """
    alone = True
    for step in script:
        if isinstance(step, Settle):
            alone = True
        elif isinstance(step, Kubectl):
            if not alone or step.arguments[0] == "scale" or "deployment" in step.arguments:
                return False
            alone = False
        elif isinstance(step, Program):
            return False
    return True
