"""Plays a script on a stand, and keeps what the oracles need."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from cluster.disasters import revision
from faults.disasters import DISASTERS
from faults.editing import Fighter, edit, probe, storm
from faults.evidence import Evidence
from faults.history import History
from faults.oracles import end_state
from faults.plan import Behind, Plan, Rule
from faults.script import (
    REMEMBERED,
    Cut,
    Disaster,
    Edit,
    Fight,
    Inject,
    Kubectl,
    Lift,
    Met,
    Operator,
    Peace,
    Probe,
    Program,
    Remember,
    Script,
    Settle,
    Step,
    Storm,
    Wait,
    Walk,
)
from faults.stand import Stand, eventually_equal
from faults.walk import walk
from integration.scene import OPERATOR

CANARY = "canary"
REST_SECONDS = 1.2
"""Without a change after which a reference goes on with its next step. At its end a run is watched for longer: for
`Scale.quiet`, which O3 judges."""
REFERENCE_SECONDS = 60.0
CANARY_SECONDS = 30.0
PROBE_SECONDS = 30.0


@dataclass
class Played:
    """What a run left behind."""

    states: list[Evidence] = field(default_factory=list)
    """What there was at each `Settle`."""
    recoveries: list[float] = field(default_factory=list)
    """Seconds from the end of a fault until the state was the reference's again."""
    waits: list[tuple[float, float]] = field(default_factory=list)
    """Of each wait what the table says and what it was, in seconds."""
    violations: list[str] = field(default_factory=list)
    refused: dict[int, str] = field(default_factory=dict)
    """What the API server answered to the `Edit` of a step, by its number, where it would not do it."""
    script: Script = ()
    """What was played."""
    told: list[str] = field(default_factory=list)
    """What a `Storm` or a `Walk` has to say for the report."""
    evidence: Evidence | None = None
    peak: int = 0
    """The most memory that the operator's last life had, in bytes."""
    ended: str = ""
    """How the operator's process ended by itself; empty if it lived."""


class Player:
    """Plays one script."""

    def __init__(self, stand: Stand, reference: Played | None) -> None:
        """Compare with a reference; without one this run is to be the reference."""
        self._stand = stand
        self._reference = reference
        self._played = Played()
        self._patience = stand.choices.scale.patience
        self._disturbed: float | None = None
        self._remembered = REMEMBERED
        self._fighters: list[Fighter] = []

    def play(self, script: Script) -> Played:
        """Play it, from a fresh operator with a canary to the canary's last change."""
        self._played.script = script
        self._begin()
        self._stand.proxy.mark("script begins")
        try:
            for number, step in enumerate(script, start=1):
                self._perform(step, f"step {number}")
                if self._played.violations:
                    break
            else:
                self._see_the_canary_followed()
        finally:
            self._make_peace()
        quiet_since = None
        if not self._played.violations:
            quiet = self._stand.choices.scale.quiet
            if not self._stand.quiet(quiet, quiet + self._patience(CANARY_SECONDS)):
                self._played.violations.append("O3: the operator does not come to rest")
            quiet_since = time.monotonic() - quiet
        self._played.ended, self._played.peak = self._stand.ended, self._stand.peak
        if self._played.ended:
            self._played.violations.append(f"O4: {self._played.ended}")
        self._played.evidence = self._stand.evidence(quiet_since)
        return self._played

    def _begin(self) -> None:
        self._stand.do("start")
        self._stand.operator.start()  # waits until it is ready
        self._stand.kubectl("apply", "-f", "-", object=canary(1))
        self._until(lambda: self._canary_follows(1), CANARY_SECONDS, "O4: the first reconcile")

    def _perform(self, step: Step, where: str) -> None:  # noqa: C901 - one case for each kind of step
        stand = self._stand
        match step:
            case Kubectl(arguments, thing):
                stand.kubectl(*arguments, object=thing)
            case Settle(timeout):
                self._settle(timeout, where)
            case Probe() | Met():
                check = stand.not_met if isinstance(step, Met) else lambda: probe(stand, step)
                self._until(check, PROBE_SECONDS, where)
            case Wait(table):
                waited = stand.choices.scale.seconds(table)
                self._played.waits.append((table, waited))
                time.sleep(waited)
            case Inject(rules):
                stand.inject(Plan(tuple(self._filled(rule) for rule in rules)))
            case Remember():
                self._remembered = revision(stand.cluster)
            case Cut(resource):
                stand.faults += 1
                stand.proxy.mark(f"watches cut: {resource}")
                stand.proxy.cut(resource)
                self._disturbed = time.monotonic()
            case Lift():
                stand.lift()
                self._disturbed = time.monotonic()
            case Operator(what):
                stand.do(what)
                self._disturbed = time.monotonic()
            case Program(name, what):
                stand.do_to_program(name, what)
                self._disturbed = time.monotonic()
            case Disaster(what):
                stand.faults += 1
                DISASTERS[what](stand)
                self._disturbed = time.monotonic()
            case Edit() | Storm() | Fight() | Peace() | Walk():
                self._write(step, where)
                self._disturbed = time.monotonic()

    def _write(self, step: Edit | Storm | Fight | Peace | Walk, where: str) -> None:
        """Let other writers do what they do."""
        if isinstance(step, Edit):
            self._stand.faults += 1
            refusal = edit(self._stand, step)
            if refusal is not None:
                self._played.refused[int(where.removeprefix("step "))] = refusal
        elif isinstance(step, Storm):
            waited = self._stand.choices.scale.seconds(step.table)
            self._played.waits.append((step.table, waited))
            self._played.told.append(storm(self._stand, step, waited))
        elif isinstance(step, Fight):
            self._stand.faults += 1
            self._fighters.append(Fighter(self._stand, step.edit))
        elif isinstance(step, Peace):
            self._make_peace()
        else:
            found, told = walk(self._stand, step)
            self._played.violations += [f"{where}: O1: {each}" for each in found]
            self._played.told.append(told)

    def _make_peace(self) -> None:
        self._played.told += [fighter.end() for fighter in self._fighters]
        self._fighters = []

    def _filled(self, rule: Rule) -> Rule:
        """Return a rule for this run: its namespace and the version that it remembers differ from run to run."""
        namespace = rule.match.namespace.replace("{namespace}", self._stand.namespace)
        action = Behind(self._remembered) if rule.action == Behind(REMEMBERED) else rule.action
        return Rule(replace(rule.match, namespace=namespace), action)

    def _settle(self, timeout: float, where: str) -> None:
        self._come_to_rest(self._patience(timeout), where)
        self._stand.proxy.mark("settled")

    def _come_to_rest(self, timeout: float, where: str) -> None:
        if self._reference is None:
            self._until(self._unsettled, timeout, where)
            if not self._stand.quiet(REST_SECONDS, self._patience(REFERENCE_SECONDS)):
                self._played.violations.append(f"{where}: the reference does not come to rest")
            self._played.states.append(self._state())
            return
        wanted = self._reference.states[len(self._played.states)]
        self._until(lambda: [str(each) for each in end_state.check(self._state(), wanted)], timeout, where)
        self._played.states.append(wanted)
        if self._disturbed is not None and not self._played.violations:
            self._played.recoveries.append(time.monotonic() - self._disturbed)
            self._disturbed = None

    def _until(self, check: Callable[[], list[str]], timeout: float, where: str) -> None:
        found = eventually_equal(check, timeout)
        self._played.violations += [f"{where}: after {timeout:.0f} s {each}" for each in found]

    def _state(self) -> Evidence:
        end, changes = self._stand.end(), self._stand.witness.changes()
        return Evidence(self._stand.namespace, OPERATOR, History(), changes, (), end, logs="")

    def _unsettled(self) -> list[str]:
        end = self._stand.end()
        present = {item["metadata"]["uid"] for item in end["webapps"]}
        waiting = [f"WebApp {item['metadata']['name']} is not settled" for item in end["webapps"] if not settled(item)]
        orphans = [
            f"{plural} {item['metadata']['name']} has outlived its WebApp"
            for plural, items in end.items()
            for item in items
            for reference in item["metadata"].get("ownerReferences", [])
            if reference["kind"] == "WebApp" and reference["uid"] not in present
        ]
        return waiting + orphans

    def _see_the_canary_followed(self) -> None:
        self._stand.kubectl("apply", "-f", "-", object=canary(2))
        self._until(lambda: self._canary_follows(2), self._patience(CANARY_SECONDS), "O4")

    def _canary_follows(self, version: int) -> list[str]:
        wanted, end = canary(version)["spec"]["image"], self._stand.end()
        images = [
            container["image"]
            for item in end["deployments"]
            if _is_canary(item)
            for container in item["spec"]["template"]["spec"]["containers"]
        ]
        if images != [wanted]:
            return [f"the canary's Deployment has the images {images} and not {wanted}"]
        return [f"WebApp {CANARY} is not settled" for item in end["webapps"] if _is_canary(item) and not settled(item)]


def canary(version: int) -> dict[str, Any]:
    """Return a small WebApp that shows, edited, that the operator lives and watches."""
    return {
        "apiVersion": "coxswain.dev/v1",
        "kind": "WebApp",
        "metadata": {"name": CANARY},
        "spec": {"image": f"registry.example/canary:{version}", "runAsUser": 1000, "replicas": 0},
    }


def _is_canary(thing: Mapping[str, Any]) -> bool:
    return bool(thing["metadata"]["name"] == CANARY)


def settled(webapp: Mapping[str, Any]) -> bool:
    """Tell whether a WebApp's status is one that nothing more will come of by itself."""
    status = webapp.get("status", {})
    conditions = {found["type"]: found["status"] for found in status.get("conditions", [])}
    reasons = {found["type"]: found.get("reason") for found in status.get("conditions", [])}
    current = status.get("observedGeneration") == webapp["metadata"]["generation"]
    # A denial by admission is retried with backoff, and so still in progress: only a change of the policy ends it.
    ended = conditions.get("Progressing") == "False" or reasons.get("Ready") == "AdmissionDenied"
    return current and (conditions.get("Ready") == "True" or ended)
