"""F1 to F3: each write of a life, as recorded in the reference, gets each fault for writes."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from fault_engine.history import History, Request
from fault_engine.lives import STEPS, Steps, life
from fault_engine.plan import Action, Answer, Delay, Drop, Kill, Match, Rule
from fault_engine.play import Played
from fault_engine.run import Case
from fault_engine.script import Lift, Script, Settle, inject

REQUEST_TIMEOUT_SECONDS = 30.0
"""The operator's request timeout without a time scale."""


@dataclasses.dataclass(frozen=True)
class Write:
    """One write of a life, identified as in a plan: by its object and its number among equal writes."""

    step: str
    verb: str
    resource: str
    name: str
    number: int
    """The number of this write among equal ones in its step."""

    def __str__(self) -> str:
        again = f", {self.number}." if self.number > 1 else ""
        return f"{self.step}: {self.verb} {self.resource}/{self.name}{again}"

    @property
    def match(self) -> Match:
        """Return the match of a rule for this write."""
        return Match(self.verb, self.resource, self.name or "*", first=self.number)


def writes(reference: Played, steps: Steps = STEPS) -> Iterator[Write]:
    """Return all writes for `web` in a played life, step by step."""
    assert reference.evidence is not None
    history = reference.evidence.history
    for (step, _), requests in zip(steps.items(), _by_step(history), strict=False):
        seen: Counter[tuple[str, str, str]] = Counter()
        for request in requests:
            written = (request.verb, request.resource, request.name)
            seen[written] += 1
            yield Write(step, *written, seen[written])


def _by_step(history: History) -> Iterator[list[Request]]:
    """Return the writes, grouped by the Settles of the script."""
    begins = [mark.at for mark in history.marks if mark.what in ("script begins", "settled")]
    ends = [*begins[1:], float("inf")]
    for begin, end in zip(begins, ends, strict=True):
        yield [request for request in history.writes() if begin <= request.at < end]


def met_with(write: Write, action: Action, steps: Steps = STEPS) -> Script:
    """Return the life up to the write's step, with a fault at this write."""
    script = list(life(write.step, steps))
    begin = len(script) - len(steps[write.step]) - 1
    return (*script[:begin], inject(Rule(write.match, action)), *script[begin:-1], Settle(), Lift())


def each_write(
    case: Case,
    step: str,
    *actions: Action,
    steps: Steps = STEPS,
    besides: Callable[[Played, Played], list[str]] = lambda *_: [],
) -> None:
    """Play a life for each write of a step and each action; fail at the end with all failures.

    `besides` also judges each run, compared with its reference.
    """
    found = [write for write in writes(case.reference(life(list(steps)[-1], steps)), steps) if write.step == step]
    reference = case.reference(life(step, steps))
    failed: list[str] = []
    fired = 0
    for number, (write, action) in enumerate(((write, action) for write in found for action in actions), start=1):
        if failed and case.broken:
            break
        try:
            played = case(met_with(write, action, steps), reference=reference)
        except AssertionError as error:
            failed.append(f"{write}, {action}: {error}")
            continue
        hit = played.evidence is not None and any(request.fault for request in played.evidence.history.requests)
        fired += hit
        wrong = besides(played, reference)
        case.measured.violations += wrong
        failed += [f"{write}, {action}: {each}" for each in wrong]
        print(f"{number}/{len(found) * len(actions)} {write}, {action}: {'survived' if hit else 'no fault'}")
    assert not failed, "\n".join(failed)
    assert found, f"the operator sends no write in step {step}"
    tried = len(found) * len(actions)
    assert fired >= tried / 2, f"only {fired} of {tried} faults happened"


def each_step(*ci: str) -> pytest.MarkDecorator:
    """Return a parameter with the steps in which the operator writes; CI runs only the named ones."""

    def marks(step: str) -> list[pytest.MarkDecorator]:
        return [pytest.mark.ci] * (step in ci) + [pytest.mark.generic] * (step != "switch")

    return pytest.mark.parametrize(
        "step", [pytest.param(step, marks=marks(step)) for step in STEPS if step != "delete"]
    )


JUDGED = ("O1", "O2", "O3", "O6")


@pytest.mark.fault(
    "F1",
    "killed before each write, after the response to the previous one",
    oracles=JUDGED,
    broken="forgets-at-restart",
)
@each_step("create", "switch")
def test_killed_between_writes(case: Case, step: str) -> None:
    each_write(case, step, Kill(forwarded=False))


@pytest.mark.fault("F2", "killed before the response to each write", oracles=JUDGED, broken="forgets-at-restart")
@each_step("create", "drift")
def test_killed_before_the_answer(case: Case, step: str) -> None:
    each_write(case, step, Kill(answered=True))


@pytest.mark.fault("F2", "the response to each write lost", oracles=JUDGED, broken="never-retries")
@each_step()
def test_answer_lost(case: Case, step: str) -> None:
    each_write(case, step, Drop(answered=True))


@pytest.mark.fault(
    "F3",
    "each write refused once: 500, 503, or no response in time",
    oracles=("O1", "O3", "O6"),
    broken="never-retries",
)
@each_step()
def test_refused_once(case: Case, step: str) -> None:
    slow = Delay(case.scale.seconds(REQUEST_TIMEOUT_SECONDS, least=3.0) + 1)
    each_write(case, step, Answer(500), Answer(503), slow)


@pytest.mark.generic
@pytest.mark.fault("F3", "every k-th write refused", oracles=("O1", "O3", "O6"), broken="never-retries")
@pytest.mark.parametrize("every", [pytest.param(2, marks=pytest.mark.quick), 3, 5])
def test_every_kth_write_refused(case: Case, every: int) -> None:
    rule = Rule(Match("create|update|patch|delete", count=None, every=every, first=every), Answer(500))
    case((inject(rule), *life(), Lift()), reference=case.reference(life()))


@pytest.mark.generic
@pytest.mark.fault(
    "F1",
    "a deletion without any write by the operator",
    oracles=JUDGED,
    broken="deletes-what-the-collector-deletes",
    by="O2",
)
def test_a_deletion_has_no_writes(case: Case) -> None:
    assert not [write for write in writes(case.reference(life())) if write.step == "delete"]
    case(life())
