"""Plays a script on a stand, and collects the evidence for the oracles."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from cluster import KubectlError
from cluster.disasters import revision
from fault_engine.disasters import DISASTERS
from fault_engine.editing import Fighter, edit, probe, storm
from fault_engine.evidence import Evidence
from fault_engine.history import History
from fault_engine.oracles import end_state, masking
from fault_engine.placeholders import filled
from fault_engine.plan import Behind, Plan, Rule
from fault_engine.script import (
    REMEMBERED,
    Cut,
    Disaster,
    Edit,
    Fight,
    Inject,
    Kubectl,
    Life,
    Lift,
    Met,
    Operator,
    Peace,
    Probe,
    Procedure,
    Program,
    Remember,
    Script,
    Settle,
    Step,
    Storm,
    Wait,
)
from fault_engine.stand import Stand, eventually_equal

REST_SECONDS = 1.2
"""Quiet time before the next step of a reference. The end of a run has a longer one: `Workload.quiet`, for O3."""
REFERENCE_SECONDS = 60.0
CANARY_SECONDS = 30.0
PROBE_SECONDS = 30.0


@dataclass
class Played:
    """The result of a run."""

    states: list[Evidence] = field(default_factory=list)
    """The objects at each `Settle`."""
    recoveries: list[float] = field(default_factory=list)
    """Seconds from the end of a fault until the state equals the reference."""
    waits: list[tuple[float, float]] = field(default_factory=list)
    """Of each wait, the duration in the table of faults and the actual duration, in seconds."""
    violations: list[str] = field(default_factory=list)
    refused: dict[int, str] = field(default_factory=dict)
    """The API server's refusals of `Edit` steps, by the number of the step."""
    script: Script = ()
    """The played script."""
    report: list[str] = field(default_factory=list)
    """Report lines of `Storm` and `Procedure` steps."""
    evidence: Evidence | None = None
    peak: int = 0
    """The peak memory of the operator's last process, in bytes."""
    ended: str = ""
    """How the operator's process exited by itself; empty if it did not."""


class Player:
    """Plays one script."""

    def __init__(self, stand: Stand, reference: Played | None) -> None:
        """Compare with a reference. Without one, this run becomes the reference."""
        self._stand = stand
        self._reference = reference
        self._played = Played()
        self._patience = stand.choices.scale.patience
        self._fault_ended: float | None = None
        self._remembered = REMEMBERED
        self._fighters: list[Fighter] = []

    def play(self, script: Script) -> Played:
        """Play a script. A run starts with a new operator and a canary, and ends with the canary's last change."""
        self._played.script = script
        self._begin()
        self._stand.proxy.mark("script begins")
        try:
            for number, step in enumerate(script, start=1):
                self._perform(step, f"step {number}")
                if self._played.violations:
                    break
            else:
                self._check_canary()
        finally:
            self._end_fights()
        quiet_since = None
        if not self._played.violations:
            quiet = self._stand.workload.quiet(self._stand.choices.scale)
            if not self._stand.quiet(quiet, quiet + self._patience(CANARY_SECONDS)):
                self._played.violations.append("O3: the operator does not stop writing")
            quiet_since = time.monotonic() - quiet
        self._played.ended, self._played.peak = self._stand.ended, self._stand.peak
        if self._played.ended:
            self._played.violations.append(f"O4: {self._played.ended}")
        self._played.evidence = self._stand.evidence(quiet_since)
        return self._played

    def _begin(self) -> None:
        self._stand.do("start")
        self._stand.operator.start()  # waits for readiness
        self._stand.live(canary(1))
        self._await(lambda: self._canary_problems(1), CANARY_SECONDS, "O4: the first reconcile")

    def _perform(self, step: Step, where: str) -> None:  # noqa: C901, PLR0912 - one case for each kind of step
        stand = self._stand
        step = self._filled(step)
        match step:
            case Kubectl():
                self._run_kubectl(step, where)
            case Life():
                stand.live(step)
            case Settle(timeout):
                self._settle(timeout, where)
            case Probe() | Met():
                check = stand.not_met if isinstance(step, Met) else lambda: probe(stand, step)
                self._note(eventually_equal(check, PROBE_SECONDS), PROBE_SECONDS, where)
            case Wait(table):
                waited = stand.choices.scale.seconds(table)
                self._played.waits.append((table, waited))
                time.sleep(waited)
            case Inject(rules):
                stand.inject(Plan(tuple(self._with_remembered_version(rule) for rule in rules)))
            case Remember():
                self._remembered = revision(stand.cluster)
            case Cut(resource):
                stand.faults += 1
                stand.proxy.mark(f"watches cut: {resource}")
                stand.proxy.cut(resource)
                self._fault_ended = time.monotonic()
            case Lift():
                stand.lift()
                self._fault_ended = time.monotonic()
            case Operator(what):
                stand.do(what)
                self._fault_ended = time.monotonic()
            case Program(name, what):
                stand.do_to_program(name, what)
                self._fault_ended = time.monotonic()
            case Disaster(what):
                stand.faults += 1
                {**DISASTERS, **stand.workload.disasters}[what](stand)
                self._fault_ended = time.monotonic()
            case Edit() | Storm() | Fight() | Peace() | Procedure():
                self._write(step, where)
                self._fault_ended = time.monotonic()

    def _run_kubectl(self, step: Kubectl, where: str) -> None:
        """Run a user's command. A wait for a state that never comes is a violation, like one at a Settle."""
        try:
            self._stand.kubectl(*step.arguments, object=step.object)
        except KubectlError as error:
            if step.arguments[0] != "wait":
                raise
            self._played.violations.append(f"{where}: O1: {error}")

    def _write(self, step: Edit | Storm | Fight | Peace | Procedure, where: str) -> None:
        """Run a step of another writer."""
        if isinstance(step, Edit):
            self._stand.faults += 1
            refusal = edit(self._stand, step)
            if refusal is not None:
                self._played.refused[int(where.removeprefix("step "))] = refusal
        elif isinstance(step, Storm):
            waited = self._stand.choices.scale.seconds(step.table)
            self._played.waits.append((step.table, waited))
            self._played.report.append(storm(self._stand, step, waited))
        elif isinstance(step, Fight):
            self._stand.faults += 1
            self._fighters.append(Fighter(self._stand, step.edit))
        elif isinstance(step, Peace):
            self._end_fights()
        else:
            found, line = self._stand.workload.procedures[step.name](self._stand, *step.arguments)
            self._played.violations += [f"{where}: O1: {each}" for each in found]
            self._played.report.append(line)

    def _end_fights(self) -> None:
        self._played.report += [fighter.end() for fighter in self._fighters]
        self._fighters = []

    def _filled(self, step: Step) -> Step:
        """Return a step with its placeholders replaced. `Workload.steps` replaces those of a life."""
        made: Step = step if isinstance(step, Life) else filled(step, self._stand.words)
        return made

    def _with_remembered_version(self, rule: Rule) -> Rule:
        """Return a rule with the remembered resourceVersion of this run."""
        return replace(rule, action=Behind(self._remembered)) if rule.action == Behind(REMEMBERED) else rule

    def _settle(self, timeout: float, where: str) -> None:
        self._await_settled(self._patience(timeout), where)
        self._stand.proxy.mark("settled")

    def _await_settled(self, timeout: float, where: str) -> None:
        if self._reference is None:
            self._await(self._unsettled, timeout, where)
            if not self._stand.at_rest(REST_SECONDS, self._patience(REFERENCE_SECONDS)):
                self._played.violations.append(f"{where}: the reference does not stop changing")
            self._played.states.append(self._state())
            return
        wanted = self._reference.states[len(self._played.states)]
        expected = masking.end_state(wanted)
        self._await(lambda: [str(each) for each in end_state.compare(self._state(), expected)], timeout, where)
        self._played.states.append(wanted)
        if self._fault_ended is not None and not self._played.violations:
            self._played.recoveries.append(time.monotonic() - self._fault_ended)
            self._fault_ended = None

    def _await(self, check: Callable[[], list[str]], timeout: float, where: str) -> None:
        """Wait for a state of the objects."""
        self._note(eventually_equal(check, timeout, changes=lambda: self._stand.witness.count), timeout, where)

    def _note(self, found: list[str], timeout: float, where: str) -> None:
        self._played.violations += [f"{where}: after {timeout:.0f} s {each}" for each in found]

    def _state(self) -> Evidence:
        end, changes = self._stand.end(), self._stand.witness.changes()
        return Evidence(self._stand.workload, self._stand.namespace, History(), changes, (), end, logs="")

    def _unsettled(self) -> list[str]:
        end, workload = self._stand.end(), self._stand.workload
        parents, kind = end[workload.parent.plural], workload.parent.kind
        present = {item["metadata"]["uid"] for item in parents}
        waiting = [
            f"{kind} {item['metadata']['name']} has no final status" for item in parents if not workload.settled(item)
        ]
        orphans = [
            f"{plural} {item['metadata']['name']} still exists after the deletion of its {kind}"
            for plural, items in end.items()
            for item in items
            for reference in item["metadata"].get("ownerReferences", [])
            if reference["kind"] == kind and reference["uid"] not in present
        ]
        return waiting + orphans

    def _check_canary(self) -> None:
        self._stand.live(canary(2))
        self._await(lambda: self._canary_problems(2), self._patience(CANARY_SECONDS), "O4")

    def _canary_problems(self, version: int) -> list[str]:
        end, workload = self._stand.end(), self._stand.workload
        problem = workload.follows_life(canary(version), end[workload.main.plural])
        if problem is not None:
            return [f"the change of the canary is not applied: {problem}"]
        name = workload.steps(canary(version))[0].object["metadata"]["name"]
        canaries = [item for item in end[workload.parent.plural] if item["metadata"]["name"] == name]
        return [f"{workload.parent.kind} {name} has no final status" for item in canaries if not workload.settled(item)]


def canary(version: int) -> Life:
    """Return the step that applies a version of the canary, a small custom resource beside those of the script."""
    return Life("canary", version, "canary")
