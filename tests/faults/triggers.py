"""Three operators meet the same lost, doubled and reordered events: the difference that level-driven logic makes."""

import functools
import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from bench.rig import python_path
from bench.webapps import IMAGE, NEXT_IMAGE, children_template, webapp
from cluster import ControlPlane
from cluster.processes import Service
from cluster.readiness import wait_until
from fault_engine.plan import Doubled, Hide, Match, Plan, Rule
from fault_engine.proxy import FaultProxy
from faults.differences import differences

RESYNC_SECONDS = 6.0
"""The resync interval of the operator with resync; its jitter is a tenth."""
NEVER_SECONDS = 86400.0
"""The longest interval that the operator accepts."""
PATIENCE_SECONDS = 4 * RESYNC_SECONDS
"""An operator that has not corrected a difference by then corrects it only after another event."""
READY_SECONDS = 60.0
POLL_SECONDS = 0.2
LAST_IMAGE = "registry.example/shop:3"
EDITED_IMAGE = "registry.example/other:1"
NOISE = "noise"
NEVER_SENT = "ADDED"
"""Ends a Hide, but is never sent for an object that exists."""


@dataclass(frozen=True)
class Contestant:
    """An operator that takes part."""

    name: str
    module: str
    options: tuple[str, ...]
    watched: tuple[str, ...]
    """The resources whose watches the script meddles with, as far as the operator watches them."""


EDGE = Contestant(
    "edge-triggered", "bench.peers.plain_kopf", ("--children", "{children}"), watched=("webapps", "deployments")
)
_COXSWAIN = ("--namespace", "{namespace}", "--listen", "127.0.0.1:0", "--metrics-listen=0", "--resync-interval")
_WATCHED = ("webapps", "deployments", "services")
LEVEL = Contestant("level-driven logic", "coxswain", (*_COXSWAIN, str(NEVER_SECONDS)), watched=_WATCHED)
RESYNCED = Contestant("level-driven, with resync", "coxswain", (*_COXSWAIN, str(RESYNC_SECONDS)), watched=_WATCHED)
CONTESTANTS = (EDGE, LEVEL, RESYNCED)


@dataclass(frozen=True)
class Episode:
    """Changes of one WebApp and its children."""

    name: str
    """Of the WebApp."""
    title: str
    act: Callable[["Run", str], None]
    image: str = IMAGE
    """The image that the WebApp has in the end."""


@dataclass(frozen=True)
class Phase:
    """Episodes that happen under the same faults."""

    episodes: tuple[Episode, ...]
    rules: tuple[Rule, ...] = ()
    down: bool = False
    """Whether the operator is stopped meanwhile."""
    noise: bool = False
    """Whether another WebApp changes all the time. An event that is held for the next one would be lost otherwise."""


@dataclass(frozen=True)
class Outcome:
    """The end of one episode."""

    wrong: tuple[str, ...]
    """Differences that remained."""
    seconds: float = 0.0
    """Without differences: the time until the last of them was gone."""

    def __str__(self) -> str:
        return ", ".join(self.wrong) if self.wrong else "as desired"


def _change(run: "Run", name: str) -> None:
    run.apply(name, NEXT_IMAGE)


def _change_twice(run: "Run", name: str) -> None:
    run.apply(name, NEXT_IMAGE)
    run.apply(name, LAST_IMAGE)


def _delete_service(run: "Run", name: str) -> None:
    run.kubectl("delete", "service", name)


def _edit_deployment(run: "Run", name: str) -> None:
    run.kubectl("set", "image", f"deployment/{name}", f"*={EDITED_IMAGE}")


def _change_and_delete(run: "Run", name: str) -> None:
    _change(run, name)
    _delete_service(run, name)


def _on(resource: str, action: Hide | Doubled) -> Rule:
    return Rule(Match("watch", resource, count=None), action)


SCRIPT = (
    Phase(
        (
            Episode("deleted", "no fault: a Service deleted", _delete_service),
            Episode("edited", "no fault: the image of a Deployment edited", _edit_deployment),
        )
    ),
    Phase(
        (Episode("down", "operator down: WebApp changed, Service deleted", _change_and_delete, NEXT_IMAGE),), down=True
    ),
    Phase(
        (
            Episode("lost-change", "lost: MODIFIED of a changed WebApp", _change, NEXT_IMAGE),
            Episode("lost-deletion", "lost: DELETED of a deleted Service", _delete_service),
        ),
        rules=(
            _on("webapps", Hide("lost-change", "MODIFIED", NEVER_SENT)),
            _on("services", Hide("lost-deletion", "DELETED", NEVER_SENT)),
        ),
    ),
    Phase(
        (Episode("doubled", "doubled: MODIFIED of a changed WebApp", _change, NEXT_IMAGE),),
        rules=(_on("*", Doubled()),),
    ),
    Phase(
        (Episode("reordered", "reordered: two MODIFIED of a WebApp changed twice", _change_twice, LAST_IMAGE),),
        rules=(_on("*", Doubled(swapped=True)),),
        noise=True,
    ),
)
EPISODES = tuple(episode for phase in SCRIPT for episode in phase.episodes)


@dataclass
class Run:
    """One operator behind the proxy, with a namespace of its own."""

    cluster: ControlPlane
    contestant: Contestant
    namespace: str
    proxy: FaultProxy
    operator: Service
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def play(self) -> None:
        """Play the whole script."""
        self.operator.start()
        self.apply(NOISE, IMAGE)
        for phase in SCRIPT:
            for episode in phase.episodes:
                self.apply(episode.name, IMAGE)
            self._await(functools.partial(self._all_right, phase.episodes))
            self._play(phase)

    def _all_right(self, episodes: Sequence[Episode]) -> bool:
        return not any(self.wrong(episode.name, IMAGE) for episode in episodes)

    def _play(self, phase: Phase) -> None:
        if phase.rules:
            self.proxy.set(Plan(phase.rules))
            self._open_watches_again()
        if phase.down:
            self.operator.stop()
        for episode in phase.episodes:
            episode.act(self, episode.name)
        if phase.down:
            self.operator.start()
        self._observe(phase)
        self.proxy.lift()

    def _open_watches_again(self) -> None:
        since = time.monotonic()
        self.proxy.cut()

        def opened() -> bool:
            found = self.proxy.snapshot().requests
            watches = {each.resource for each in found if each.at >= since and each.verb == "watch" and each.delivered}
            return watches.issuperset(self.contestant.watched)

        self._await(opened)

    def _observe(self, phase: Phase) -> None:
        """Wait until all is as desired, or patience ends."""
        begun, episodes = time.monotonic(), phase.episodes
        seconds: dict[str, float] = {}
        while len(seconds) < len(episodes) and time.monotonic() - begun < PATIENCE_SECONDS:
            for episode in episodes:
                if not self.wrong(episode.name, episode.image):
                    seconds.setdefault(episode.name, time.monotonic() - begun)
            if phase.noise:
                self.kubectl("annotate", "--overwrite", "webapp", NOISE, f"seconds={time.monotonic()}")
            time.sleep(POLL_SECONDS)
        for episode in episodes:
            wrong = self.wrong(episode.name, episode.image)
            self.outcomes[episode.name] = Outcome(tuple(wrong), seconds.get(episode.name, 0.0))

    def _await(self, condition: Callable[[], bool]) -> None:
        wait_until(self.contestant.name, condition, [self.operator], READY_SECONDS)

    def apply(self, name: str, image: str) -> None:
        """Apply a WebApp with an image, as its user does."""
        self.cluster.kubectl("apply", "-f", "-", input=json.dumps(webapp(self.namespace, name, image)))

    def kubectl(self, *arguments: str) -> None:
        """Run kubectl in the namespace, straight to the API server."""
        self.cluster.kubectl("--namespace", self.namespace, *arguments)

    def wrong(self, name: str, image: str) -> list[str]:
        """Return the differences of the children from a WebApp with this image."""
        return differences(self.cluster, self.namespace, name, image)


def play(cluster: ControlPlane, kubeconfig: Path, contestant: Contestant) -> dict[str, Outcome]:
    """Play the script with one operator; return the outcome of each episode by its name."""
    namespace = f"triggers-{CONTESTANTS.index(contestant)}"
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        cluster.kubectl("create", "namespace", namespace)
        stack.callback(cluster.kubectl, "delete", "namespace", namespace, "--wait=false")
        proxy = stack.enter_context(FaultProxy(cluster.url, cluster.ca_file, folder))
        proxied, template = folder / "kubeconfig.yaml", folder / "children.json"
        proxy.write_kubeconfig(kubeconfig, proxied)
        template.write_text(json.dumps(children_template()), encoding="utf-8")
        words = {"{namespace}": namespace, "{children}": str(template)}
        options = [words.get(option, option) for option in contestant.options]
        command = [sys.executable, "-m", contestant.module, "--kubeconfig", str(proxied), *options]
        extra = {"PYTHONPATH": python_path(), "PYTHONUNBUFFERED": "1"}
        operator = Service(contestant.name, command, log=folder / "operator.log", home=folder, extra=extra)
        stack.callback(operator.stop)
        run = Run(cluster, contestant, namespace, proxy, operator)
        run.play()
        return run.outcomes


def table(outcomes: Sequence[Mapping[str, Outcome]]) -> str:
    """Return the outcomes of the contestants, in their order, as a table of Markdown."""
    rows = [["what happens", *(contestant.name for contestant in CONTESTANTS)]]
    rows += [[episode.title, *(str(each[episode.name]) for each in outcomes)] for episode in EPISODES]
    head, *body = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([head, "|---" * len(rows[0]) + "|", *body])
