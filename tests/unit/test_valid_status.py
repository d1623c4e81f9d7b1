"""With any foreign texts, status and Events are valid, and no text contains control characters for a terminal."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coxswain.kernel.api.errors import Refused
from coxswain.kernel.api.events import RecentEvents, Recorder
from coxswain.kernel.conflicts.policy import Policy
from coxswain.kernel.objects.event_record import EventRecord
from coxswain.kernel.objects.quote import clean
from coxswain.kernel.status.conflict_report import Conflict, Repair
from coxswain.kernel.status.health import Child, Health, Level
from coxswain.kernel.status.urgency import Urgency
from coxswain.webapp.spec import Status
from coxswain.webapp.status import status
from rendered import observations, urgency
from unit.bench import Bench
from unit.objects import observed_webapp, webapp
from unit.schema import schema, violations

NOW = "2026-01-01T00:00:00Z"
SENTENCE = "image must come from registry.corp"

STEERING = "\x1b[31m\x1b]0;t\x07\u202e\u2066\u200e\u061c\ufeff\x00\x9b31m\r\n\u2028"
TEXTS = st.one_of(
    st.text(max_size=40),
    st.text(alphabet=st.characters(exclude_categories=()), max_size=40),
    st.text(alphabet=STEERING + "ab ", max_size=40),
    st.sampled_from(["", " ", "A" * 2000, "Ab:", "a,b", "x" * 40_000, "é" * 40_000, SENTENCE, "1st", "A\n", "\udc80"]),
)


@st.composite
def statuses(draw: st.DrawFn, previous: Status | None = None) -> Status:
    """Draw a status with arbitrary text wherever the text may come from others."""
    healths = draw(st.lists(st.builds(Health, st.sampled_from(Level), TEXTS, TEXTS, st.booleans()), max_size=4))
    children = [Child("Deployment", f"web-{number}", state) for number, state in enumerate(healths)]
    held = st.builds(
        Conflict, st.just("Deployment/web"), TEXTS, TEXTS, st.sampled_from(Policy), st.just(value=True), st.booleans()
    )
    values = st.one_of(TEXTS, st.none(), st.integers(), st.lists(TEXTS, max_size=1))
    repairs = st.builds(Repair, st.just("Service/web"), TEXTS, TEXTS, values, values)
    found = observations(children, held=draw(st.lists(held, max_size=8)), repairs=draw(st.lists(repairs, max_size=8)))
    return status(webapp(), found, previous or {}, NOW)


@pytest.mark.thorough
@settings(deadline=None)
@given(statuses())
def test_every_status_is_valid(made: Status) -> None:
    assert list(violations(dict(made), schema("status"))) == []
    assert json.dumps(made, ensure_ascii=False).isprintable()


@given(st.builds(Health, st.just(Level.DEGRADED), TEXTS, TEXTS), TEXTS, TEXTS)
def test_a_status_that_was_made_valid_is_not_written_again(state: Health, field: str, manager: str) -> None:
    held = [Conflict("Deployment/web", field, manager, Policy.YIELD, differs=True)]
    found = observations([Child("Deployment", "web", state)], held=held)
    first = status(webapp(), found, {}, NOW)
    assert urgency(first, status(webapp(), found, first, NOW), 1) is Urgency.NONE


def test_a_reason_that_is_no_word_goes_into_the_message() -> None:
    state = Health(Level.DEGRADED, SENTENCE, "denied")
    assert (state.reason, state.message) == ("Failed", f"denied ({SENTENCE})")
    assert Health(Level.DEGRADED, SENTENCE, f"denied: {SENTENCE}").message == f"denied: {SENTENCE}"
    assert Health(Level.DEGRADED, "FailedCreate", "no").reason == "FailedCreate"


@pytest.mark.parametrize("message", [f'admission webhook "x" denied the request: {SENTENCE}', SENTENCE])
def test_a_webhooks_sentence_as_reason_is_reported(message: str) -> None:
    bench = Bench()
    bench.converge()
    bench.webapp(version=500, generation=2, image="registry.example/web:2")
    bench.writer.fail("update Deployment", Refused(403, {"reason": SENTENCE, "message": message, "code": 403}))
    bench.run()
    found = bench.store.parent(bench.store.parents()[0])
    assert found is not None
    made = found.content["status"]
    assert list(violations(made, schema("status"))) == []
    assert (made["observedGeneration"], bench.conditions()["Ready"][0]) == (2, "False")
    assert SENTENCE in str(made["conditions"][0]["message"])


class Posted:
    """Keeps the posted Events."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []

    async def create(self, _kind: Any, _namespace: str, body: dict[str, Any]) -> None:
        self.bodies.append(body)


@given(TEXTS, TEXTS)
def test_every_event_is_valid(reason: str, note: str) -> None:
    posted = Posted()
    recorder = Recorder(posted, "coxswain.dev/operator", lambda: 0.0)  # type: ignore[arg-type]
    asyncio.run(recorder.record(observed_webapp(), EventRecord(reason, "Apply", note, "Warning"), RecentEvents()))
    (body,) = posted.bodies
    assert 1 <= len(body["reason"].encode()) <= 128
    assert len(body["note"].encode()) <= 1024
    assert (body["reason"] + body["note"]).isprintable()


@pytest.mark.parametrize(
    "char", "\x1b\x00\x07\x7f\x85\x9b\r\n\u200b\u200e\u200f\u061c\u2028\u202a\u202e\u2066\u2069\ufeff"
)
def test_each_control_character_is_removed(char: str) -> None:
    assert clean(f"left{char}right") == "left right"
    assert clean(f"left {char}right{char}") == "left right"


@given(TEXTS.filter(lambda text: not text.isprintable()))
def test_the_schema_refuses_an_image_that_does_not_print(image: str) -> None:
    assert list(violations(image, schema("spec")["properties"]["image"]))


def test_the_schema_takes_images() -> None:
    rules = schema("spec")["properties"]["image"]
    for image in ("web", "registry.example:5000/a/b_c:1.2", f"registry.example/web@sha256:{'a' * 64}"):
        assert list(violations(image, rules)) == []


@pytest.mark.parametrize("text", ["naïve Σ 漢字 🚀", "a b", ""])
def test_printable_text_is_unchanged(text: str) -> None:
    assert clean(text) == text


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_clean_is_printable_and_cleans_no_more_a_second_time(text: str) -> None:
    once = clean(text)
    assert once.isprintable()
    assert clean(once) == once
