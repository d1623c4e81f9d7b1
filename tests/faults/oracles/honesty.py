"""O5: the status says no more than the operator could know, and doesn't go on saying what has ceased to be true."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from faults.evidence import Evidence, Object, Violation, condition, controller, rollout_problem
from faults.history import Request
from faults.oracles import owned
from faults.oracles.hindrances import Hindrances
from faults.oracles.knowledge import Knowledge, steps

GRACE_SECONDS = 0.75
"""What was sent so shortly before a write may be missing in it: it was on its way through the operator."""
CORRECTION_SECONDS = 15.0
"""Within which a status that has become wrong, or what is wrong, is put right."""


def check(
    evidence: Evidence,
    reference: Evidence | None = None,
    *,
    grace: float = GRACE_SECONDS,
    correction: float = CORRECTION_SECONDS,
) -> list[Violation]:
    """Judge each status that was written or sent, by what the operator had been sent before, and by what was there.

    Without a reference nobody knows how each field should be: then existence, image, replicas and rollout are judged.
    """
    patience = correction * evidence.patience
    return [
        *_never_ahead(evidence),
        *_Judge(evidence, grace, patience).violations(),
        *(() if reference is None else owned.check(evidence, reference, patience)),
    ]


def _never_ahead(evidence: Evidence) -> Iterator[Violation]:
    for change in evidence.changes:
        if change.resource != "webapps":
            continue
        observed, generation = _observed(change.object.get("status", {})), change.object["metadata"]["generation"]
        if observed > generation:
            what = f"observedGeneration is {observed} and generation only {generation}"
            yield Violation("O5", f"webapps/{change.name}, version {change.version}: {what}")


def _observed(status: Mapping[str, Any]) -> int:
    said = [status.get("observedGeneration") or 0]
    return max(said + [found.get("observedGeneration") or 0 for found in status.get("conditions", [])])


@dataclass
class _View:
    """One WebApp as the operator had been sent it, through time."""

    name: str
    verdicts: list[tuple[float, str | None]] = field(default_factory=list)
    """Since when what was wrong with the children; None for nothing."""
    generations: list[tuple[float, int]] = field(default_factory=list)
    untrue_since: float | None = None
    """Since when its status has said Ready, although it is not, and somebody could have mended that."""
    told: bool = False

    def in_window(self, since: float) -> list[str | None]:
        """Return the verdicts that held at some time after `since`."""
        recent = [verdict for at, verdict in self.verdicts if at > since]
        older = [verdict for at, verdict in self.verdicts if at <= since]
        return older[-1:] + recent

    def generation_at(self, time: float) -> int:
        """Return the newest generation that had been sent by a time."""
        return max((generation for at, generation in self.generations if at <= time), default=0)


class _Judge:
    def __init__(self, evidence: Evidence, grace: float, correction: float) -> None:
        self._evidence = evidence
        self._grace = grace
        self._correction = correction
        self._knowledge = Knowledge(evidence.history, evidence.namespace)
        self._views: dict[str, _View] = {}
        self._hindrances = Hindrances()

    def violations(self) -> Iterator[Violation]:
        history = steps(self._evidence.history)
        if not history:
            return
        begin = history[0].at
        for step in history:
            yield from self._overdue(step.at, begin)
            if step.sent is not None and (step.sent.verb, step.sent.resource) == ("patch", "webapps/status"):
                yield from self._judge(step.sent, begin)
            self._hindrances.heed(step.mark)
            if self._knowledge.take(step) or step.mark:
                self._look(step.at)
        yield from self._overdue(max(history[-1].at, self._evidence.quiet_since or 0.0), begin)

    def _look(self, at: float) -> None:
        """Form a verdict on each WebApp that the operator has been sent."""
        webapps = {_uid(webapp): webapp for webapp in self._knowledge.webapps()}
        for uid in set(self._views) - set(webapps):
            self._views.pop(uid)
        for uid, webapp in webapps.items():
            view = self._views.setdefault(uid, _View(webapp["metadata"]["name"]))
            verdict = None if "deletionTimestamp" in webapp["metadata"] else _problem(webapp, self._knowledge)
            if not view.verdicts or view.verdicts[-1][1] != verdict:
                view.verdicts.append((at, verdict))
            generation = webapp["metadata"]["generation"]
            if not view.generations or view.generations[-1][1] != generation:
                view.generations.append((at, generation))
            if verdict is None or not _says_ready(webapp) or self._hindrances:
                view.untrue_since, view.told = None, False
            elif view.untrue_since is None:
                view.untrue_since = at

    def _overdue(self, now: float, begin: float) -> Iterator[Violation]:
        for view in self._views.values():
            if view.untrue_since is None or view.told or now - view.untrue_since <= self._correction:
                continue
            view.told = True
            sentence = (
                f"WebApp {view.name} says Ready, and has said so for more than {self._correction:.0f} s from "
                f"{view.untrue_since - begin:.2f} s on, though the operator had been sent that {view.verdicts[-1][1]}"
            )
            yield Violation("O5", sentence)

    def _judge(self, write: Request, begin: float) -> Iterator[Violation]:
        if not isinstance(write.body, Mapping):
            return
        status = write.body.get("status", {})
        uid = write.body.get("metadata", {}).get("uid") or _uid_of_answer(write)
        observed, generation = _observed(status), self._knowledge.generation(uid)
        when = f"{write.at - begin:.2f} s: the status written to WebApp {write.name}"
        if generation is None or observed > generation:
            newest = "none at all" if generation is None else str(generation)
            yield Violation("O5", f"{when} says observedGeneration {observed}; the newest it had been sent is {newest}")
        view = self._views.get(uid)
        if view is None or condition(write.body, "Ready").get("status") != "True":
            return
        expected = view.generation_at(write.at - self._grace)
        if observed < expected:
            yield Violation(
                "O5", f"{when} says Ready for generation {observed}; it had been sent {expected} long before"
            )
        verdicts = view.in_window(write.at - self._grace)
        if verdicts and all(verdicts):
            yield Violation("O5", f"{when} says Ready; it had been sent that {verdicts[-1]}")


def _uid_of_answer(write: Request) -> str:
    """Return which object was written, if the write itself doesn't say."""
    answer = write.server_answer or write.answer
    metadata = answer.get("metadata", {}) if isinstance(answer, Mapping) else {}
    return str(metadata.get("uid", ""))


def _says_ready(webapp: Object) -> bool:
    ready = condition(webapp, "Ready")
    return ready.get("status") == "True" and ready.get("observedGeneration") == webapp["metadata"]["generation"]


def _problem(webapp: Object, knowledge: Knowledge) -> str | None:
    """Return what is wrong with the children of a WebApp, as they are known; None for nothing."""
    for resource in _expected(webapp):
        labelled = knowledge.children(resource, webapp["metadata"]["name"])
        if labelled is None:
            continue
        children = [found for found in labelled if _is_child(found, webapp)]
        if not children:
            return f"there is none of {resource} of its own"
        if resource == "deployments":
            return _wrong(webapp, children[0])
    return None


def _expected(webapp: Object) -> Iterator[str]:
    spec = webapp["spec"]
    if spec.get("serviceAccount", {}).get("create", True):
        yield "serviceaccounts"
    if spec.get("config") or spec.get("files"):
        yield "configmaps"
    if spec.get("ports"):
        yield "services"
    yield "deployments"


def _is_child(thing: Object, webapp: Object) -> bool:
    return (controller(thing) or {}).get("uid") == _uid(webapp) and "deletionTimestamp" not in thing["metadata"]


def _wrong(webapp: Object, deployment: Object) -> str | None:
    spec = deployment["spec"]
    by_others = owned.REPLICAS_NOTE in deployment["metadata"].get("annotations", {})
    wanted = spec.get("replicas", 1) if by_others else webapp["spec"].get("replicas", 1)
    if spec.get("replicas", 1) != wanted:
        return f"its Deployment's spec.replicas is {spec.get('replicas', 1)} and not {wanted}"
    images = [found.get("image") for found in spec["template"]["spec"]["containers"] if found.get("name") == "app"]
    if images != [webapp["spec"]["image"]]:
        return f"its Deployment's image is {', '.join(map(str, images)) or 'missing'} and not {webapp['spec']['image']}"
    problem = rollout_problem(deployment)
    return None if problem is None else f"its Deployment is not complete: {problem}"


def _uid(thing: Object) -> str:
    return str(thing["metadata"]["uid"])
