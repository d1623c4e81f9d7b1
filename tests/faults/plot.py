"""A script while it is written at random: what users and the world may do next, so that it has one right end.

A script is judged by its run without faults, so the reference must have one outcome only. Operations that race have
several, and are kept apart by a Settle (`_WebApp.operations`): above all two templates of one Deployment (the
ReplicaSet of the first may never come to be), a template and a scaling (the old ReplicaSet's annotations tell in which
order they came), a deletion and the stripping of an owner reference (the child stays for good). Everything else mixes:
the children's drift, the other WebApp's life, deletion during creation, recreation, and every fault.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from cluster.disasters import CLIENTS
from faults import lives
from faults.plan import Hide, Kill, Rule
from faults.script import Inject, Kubectl, Lift, Operator, Program, Script, Settle, Step, apply, kubectl, patch

SETTLE_SECONDS = 40.0
LONG_SETTLE_SECONDS = 100.0
"""What was hidden from a watch is found by the next resync only, if nothing else comes."""
_COLLECTED = {"delete", "delete deployment"}
"""What the garbage collector has to finish. After a kill of the API server in the midst of that it was seen to leave
the pods of a ReplicaSet for more than 100 s, which are none of the operator's: never both in one script."""

WEBAPPS = ("web", "shop")
VERSIONS: tuple[dict[str, Any], ...] = (
    {},
    {"config": {"GREETING": "good morning"}, "env": []},
    {"config": {}, "ports": []},
)
"""What a WebApp's spec says beside its image; the last one wants neither Service nor ConfigMap."""
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
    """What is known of one WebApp at a point of the script."""

    name: str
    there: bool = False
    life: int = 0
    """Each life has images of its own, so that no ReplicaSet of a former one has the name of a new one."""
    version: int = 0
    replicas: int = REPLICAS[0]
    paused: bool = False
    done: set[str] = field(default_factory=set)
    """What was done to it since the last Settle."""

    def spec(self) -> dict[str, Any]:
        """Return the spec that it has now."""
        image = f"registry.example/{self.name}:{self.life}.{self.version}"
        spec = {**lives.SPEC, **VERSIONS[self.version], "image": image, "replicas": self.replicas}
        return {**spec, "paused": True} if self.paused else spec

    def operations(self) -> Iterator[str]:
        """Yield what may be done to it now."""
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
        """Return the steps of an operation; afterwards it is done."""
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
    """A script while it is written: knows what may come next, and ends what must be ended."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.webapps = {name: _WebApp(name) for name in WEBAPPS}
        self.operator = "runs"
        self.injected = False
        self.kills = False
        """A rule that kills is in force, or was: nothing else may kill or start the operator before a Settle."""
        self.hides = False
        self.collected = False
        self.api_server_restarted = False
        """Once in a script: it takes long, for the control plane's own clients too."""

    @property
    def unsettled(self) -> bool:
        """Whether users have done anything since the last Settle."""
        return any(webapp.done for webapp in self.webapps.values())

    @property
    def gap(self) -> bool:
        """Whether the operator may miss what happens now."""
        return self.injected or self.operator != "runs"

    def operations(self) -> list[tuple[str, str]]:
        """Return what users may do now, and to which WebApp."""
        without = _COLLECTED if self.api_server_restarted else set[str]()
        return [
            (operation, name)
            for name, webapp in self.webapps.items()
            for operation in webapp.operations()
            if operation not in without
        ]

    def operate(self, operation: str, name: str) -> None:
        """Let a user do something."""
        self.steps += self.webapps[name].do(operation)
        self.collected |= operation in _COLLECTED

    def inject(self, *rules: Rule) -> None:
        """Begin faults."""
        self.steps.append(Inject(rules))
        self.injected = True
        self.kills |= any(isinstance(found.action, Kill) for found in rules)
        self.hides |= any(isinstance(found.action, Hide) for found in rules)

    def lift(self) -> None:
        """End them."""
        self.steps.append(Lift())
        self.injected = False

    def take_down(self, how: str) -> None:
        """Kill, stop or pause the operator."""
        self.steps.append(Operator("kill" if how == "kill" else "stop" if how == "stop" else "pause"))
        self.operator = "is paused" if how == "pause" else "is down"

    def bring_up(self) -> None:
        """Resume or start it."""
        self.steps.append(Operator("resume" if self.operator == "is paused" else "start"))
        self.operator = "runs"

    def restart_api_server(self) -> None:
        """Kill the API server, and start it: users can do nothing while it is away.

        Its other clients stand still meanwhile: the controller manager, the garbage collector in it, may put off its
        next attempt by a minute, and that would be measured.
        """
        self.steps += (
            *(Program(name, "pause") for name in CLIENTS),
            Program("kube-apiserver", "kill"),
            Program("kube-apiserver", "start"),
            *(Program(name, "resume") for name in CLIENTS),
        )
        self.api_server_restarted = True

    def settle(self) -> None:
        """End all faults, and wait until the run is where it should be."""
        if self.operator != "runs":
            self.bring_up()
        if self.injected:
            self.lift()
        self.steps.append(Settle(LONG_SETTLE_SECONDS if self.hides or self.api_server_restarted else SETTLE_SECONDS))
        self.kills = self.hides = False
        for webapp in self.webapps.values():
            webapp.done.clear()

    def script(self) -> Script:
        """Return it, ended."""
        if not self.steps or not isinstance(self.steps[-1], Settle):
            self.settle()
        return tuple(self.steps)


def counts_hold(script: Script) -> bool:
    """Tell whether O2 may judge: whether each object comes and goes as often in whatever order things happen.

    So it is if users do one thing at a time, and nothing that adds pods for a moment.
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
