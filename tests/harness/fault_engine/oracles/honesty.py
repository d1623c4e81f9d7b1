"""O5: the status never contradicts the data that the operator had received, and does not stay wrong."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fault_engine.evidence import Evidence, Violation
from fault_engine.history import Request
from fault_engine.objects import Object, condition, controller, says_ready
from fault_engine.oracles import owned
from fault_engine.oracles.hindrances import Hindrances
from fault_engine.oracles.knowledge import Knowledge, steps
from fault_engine.workload import Workload

GRACE_SECONDS = 0.75
"""A write may ignore data received so shortly before, because the operator was still processing it."""
CORRECTION_SECONDS = 15.0
"""The time limit for the correction of a wrong status, and of a wrong child."""


def check(
    evidence: Evidence,
    reference: Evidence | None = None,
    *,
    grace: float = GRACE_SECONDS,
    correction: float = CORRECTION_SECONDS,
) -> list[Violation]:
    """Judge each status by the data that the operator had received, and by the objects that existed.

    Without a reference, only `Workload.problem` is judged, because the desired value of each field is unknown.
    """
    patience = correction * evidence.patience
    return [
        *_never_ahead(evidence),
        *_Judge(evidence, grace, patience).violations(),
        *(() if reference is None else owned.check(evidence, reference, patience)),
    ]


def _never_ahead(evidence: Evidence) -> Iterator[Violation]:
    for change in evidence.changes:
        if change.resource != evidence.parents:
            continue
        observed, generation = _observed(change.object.get("status", {})), change.object["metadata"]["generation"]
        if observed > generation:
            what = f"observedGeneration is {observed}, but generation is {generation}"
            yield Violation("O5", f"{change.resource}/{change.name}, version {change.version}: {what}")


def _observed(status: Mapping[str, Any]) -> int:
    said = [status.get("observedGeneration") or 0]
    return max(said + [found.get("observedGeneration") or 0 for found in status.get("conditions", [])])


@dataclass
class _View:
    """One parent over time, as received by the operator."""

    name: str
    verdicts: list[tuple[float, str | None]] = field(default_factory=list)
    """The first problem of the children, with its start; None for no problem."""
    generations: list[tuple[float, int]] = field(default_factory=list)
    wrong_since: float | None = None
    """The time since when the status has wrongly been Ready although a correction was possible."""
    reported: bool = False

    def in_window(self, since: float) -> list[str | None]:
        """Return the verdicts that applied at any time after `since`."""
        recent = [verdict for at, verdict in self.verdicts if at > since]
        older = [verdict for at, verdict in self.verdicts if at <= since]
        return older[-1:] + recent

    def generation_at(self, time: float) -> int:
        """Return the newest generation received by a time."""
        return max((generation for at, generation in self.generations if at <= time), default=0)


class _Judge:
    def __init__(self, evidence: Evidence, grace: float, correction: float) -> None:
        self._evidence = evidence
        self._grace = grace
        self._correction = correction
        self._knowledge = Knowledge(evidence.history, evidence.namespace, evidence.workload)
        self._kind = evidence.workload.parent.kind
        self._status = ("patch", f"{evidence.parents}/status")
        self._views: dict[str, _View] = {}
        self._hindrances = Hindrances()

    def violations(self) -> Iterator[Violation]:
        history = steps(self._evidence.history)
        if not history:
            return
        begin = history[0].at
        for step in history:
            yield from self._overdue(step.at, begin)
            if step.sent is not None and (step.sent.verb, step.sent.resource) == self._status:
                yield from self._judge(step.sent, begin)
            self._hindrances.heed(step.mark)
            if self._knowledge.take(step) or step.mark:
                self._look(step.at)
        yield from self._overdue(max(history[-1].at, self._evidence.quiet_since or 0.0), begin)

    def _look(self, at: float) -> None:
        """Judge each parent that the operator has received."""
        parents = {_uid(parent): parent for parent in self._knowledge.parents()}
        for uid in set(self._views) - set(parents):
            self._views.pop(uid)
        for uid, parent in parents.items():
            view = self._views.setdefault(uid, _View(parent["metadata"]["name"]))
            verdict = None
            if "deletionTimestamp" not in parent["metadata"]:
                verdict = _problem(parent, self._knowledge, self._evidence.workload)
            if not view.verdicts or view.verdicts[-1][1] != verdict:
                view.verdicts.append((at, verdict))
            generation = parent["metadata"]["generation"]
            if not view.generations or view.generations[-1][1] != generation:
                view.generations.append((at, generation))
            if verdict is None or not says_ready(parent) or self._hindrances:
                view.wrong_since, view.reported = None, False
            elif view.wrong_since is None:
                view.wrong_since = at

    def _overdue(self, now: float, begin: float) -> Iterator[Violation]:
        for view in self._views.values():
            if view.wrong_since is None or view.reported or now - view.wrong_since <= self._correction:
                continue
            view.reported = True
            sentence = (
                f"{self._kind} {view.name} has been Ready for more than {self._correction:.0f} s since "
                f"{view.wrong_since - begin:.2f} s, contrary to received data: {view.verdicts[-1][1]}"
            )
            yield Violation("O5", sentence)

    def _judge(self, write: Request, begin: float) -> Iterator[Violation]:
        if not isinstance(write.body, Mapping):
            return
        status = write.body.get("status", {})
        uid = write.body.get("metadata", {}).get("uid") or _uid_of_answer(write)
        observed, generation = _observed(status), self._knowledge.generation(uid)
        when = f"{write.at - begin:.2f} s: the status written to {self._kind} {write.name}"
        if generation is None or observed > generation:
            newest = "none" if generation is None else str(generation)
            yield Violation("O5", f"{when} says observedGeneration {observed}; the newest received is {newest}")
        view = self._views.get(uid)
        if view is None or condition(write.body, "Ready").get("status") != "True":
            return
        expected = view.generation_at(write.at - self._grace)
        if observed < expected:
            yield Violation(
                "O5", f"{when} says Ready for generation {observed}, but {expected} was received long before"
            )
        verdicts = view.in_window(write.at - self._grace)
        if verdicts and all(verdicts):
            yield Violation("O5", f"{when} says Ready, contrary to received data: {verdicts[-1]}")


def _uid_of_answer(write: Request) -> str:
    """Return the uid of the written object, from the response if the request lacks it."""
    answer = write.server_answer or write.answer
    metadata = answer.get("metadata", {}) if isinstance(answer, Mapping) else {}
    return str(metadata.get("uid", ""))


def _problem(parent: Object, knowledge: Knowledge, workload: Workload) -> str | None:
    """Return the first difference between a parent and its children, in the data that the operator had received."""
    known: dict[str, list[Object] | None] = {}
    for resource in workload.plurals:
        labelled = knowledge.children(resource, parent["metadata"]["name"])
        known[resource] = None if labelled is None else [found for found in labelled if _is_child(found, parent)]
    return workload.problem(parent, known)


def _is_child(thing: Object, parent: Object) -> bool:
    return (controller(thing) or {}).get("uid") == _uid(parent) and "deletionTimestamp" not in thing["metadata"]


def _uid(thing: Object) -> str:
    return str(thing["metadata"]["uid"])
