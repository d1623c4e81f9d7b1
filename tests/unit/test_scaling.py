"""The owner of the Deployment's replicas, and an unchanged count at each change of the owner."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coxswain.webapp.children.deployment import deployment
from coxswain.webapp.replicas import AUTOSCALED, BY_SPEC, Kept, Scaling, kept_of, scaling
from unit.objects import webapp

ANNOTATION = "coxswain.dev/replicas"


@pytest.mark.parametrize(
    ("wanted", "live", "note", "autoscaled", "expected"),
    [
        pytest.param(2, None, None, False, Scaling(2), id="a new Deployment"),
        pytest.param(2, None, None, True, Scaling(2), id="a new Deployment begins with the spec's count"),
        pytest.param(2, 2, None, False, Scaling(2), id="nobody else"),
        pytest.param(2, 7, None, False, Scaling(2), id="drift"),
        pytest.param(2, 7, None, True, Scaling(None, AUTOSCALED), id="transferred"),
        pytest.param(2, 7, AUTOSCALED, True, Scaling(None, AUTOSCALED), id="goes on"),
        pytest.param(5, 7, AUTOSCALED, True, Scaling(None, AUTOSCALED), id="the spec changes meanwhile"),
        pytest.param(2, 0, AUTOSCALED, True, Scaling(None, AUTOSCALED), id="scaled to nothing meanwhile"),
        pytest.param(2, 7, AUTOSCALED, False, Scaling(7, "kept=7,spec=2"), id="taken back"),
        pytest.param(2, 0, AUTOSCALED, False, Scaling(0, "kept=0,spec=2"), id="taken back at nothing"),
        pytest.param(2, 2, AUTOSCALED, False, Scaling(2), id="taken back at the spec's count"),
        pytest.param(2, 7, "kept=7,spec=2", False, Scaling(7, "kept=7,spec=2"), id="kept"),
        pytest.param(2, 9, "kept=7,spec=2", False, Scaling(7, "kept=7,spec=2"), id="drift of what is kept"),
        pytest.param(3, 7, "kept=7,spec=2", False, Scaling(3), id="the spec was changed"),
        pytest.param(7, 7, "kept=7,spec=2", False, Scaling(7), id="the spec was changed to what is kept"),
        pytest.param(2, 7, "kept=7,spec=2", True, Scaling(None, AUTOSCALED), id="transferred again"),
        pytest.param(2, 7, "kept=7", False, Scaling(2), id="malformed"),
        pytest.param(2, 7, "autoscaled ", False, Scaling(2), id="not quite"),
        pytest.param(2, 7, "", False, Scaling(2), id="empty"),
    ],
)
def test_the_replicas_of_the_manifest(
    wanted: int, live: int | None, note: str, autoscaled: bool, expected: Scaling
) -> None:
    assert scaling(wanted, live, note, autoscaled=autoscaled) == expected


MALFORMED = [
    "kept=1,spec=",
    "kept=1,",
    "kept=-1,spec=1",
    "kept=01,spec=1",
    "kept=\u0661,spec=1",
    "kept=2147483648,spec=1",
    "kept=1,spec=99999999999",
    "kept=1,spec=1,more=1",
    "kept=1,spec=1\n",
    " kept=1,spec=1",
    "KEPT=1,spec=1",
    "null",
    AUTOSCALED,
    BY_SPEC,
]


@pytest.mark.parametrize("note", MALFORMED)
def test_a_malformed_note_counts_as_absent(note: str) -> None:
    assert kept_of(note) is None


@pytest.mark.parametrize(
    ("wanted", "live", "note", "expected"),
    [
        pytest.param(1, None, None, Scaling(2), id="a new Deployment begins with minReplicas"),
        pytest.param(1, 5, None, Scaling(None, BY_SPEC), id="transferred at its count"),
        pytest.param(1, 1, None, Scaling(None, BY_SPEC), id="the autoscaler brings it to minReplicas"),
        pytest.param(1, 5, BY_SPEC, Scaling(None, BY_SPEC), id="goes on"),
        pytest.param(1, 5, AUTOSCALED, Scaling(None, BY_SPEC), id="after an autoscaler of the user"),
        pytest.param(1, 5, "kept=5,spec=1", Scaling(None, BY_SPEC), id="after a count that was kept"),
        pytest.param(1, 0, None, Scaling(2), id="what was stopped is started: no autoscaler would"),
        pytest.param(1, 0, "kept=0,spec=1", Scaling(2), id="what was left at 0 is started"),
        pytest.param(1, 0, BY_SPEC, Scaling(None, BY_SPEC), id="stopped by hand meanwhile"),
    ],
)
def test_the_replicas_of_the_manifest_with_spec_autoscaling(
    wanted: int, live: int | None, note: str | None, expected: Scaling
) -> None:
    for autoscaled in (False, True):
        assert scaling(wanted, live, note, autoscaled=autoscaled, by_spec=True, least=2) == expected


@pytest.mark.parametrize(
    ("wanted", "live", "autoscaled", "expected"),
    [
        pytest.param(1, 5, False, Scaling(5, "kept=5,spec=1"), id="the count stays"),
        pytest.param(1, 1, False, Scaling(1), id="at the spec's count"),
        pytest.param(3, 5, False, Scaling(3), id="replicas were set by the same change"),
        pytest.param(0, 5, False, Scaling(0), id="stopped by the same change"),
        pytest.param(1, 5, True, Scaling(None, AUTOSCALED), id="an autoscaler of the user is there"),
    ],
)
def test_the_replicas_of_the_manifest_after_spec_autoscaling(
    wanted: int, live: int, autoscaled: bool, expected: Scaling
) -> None:
    assert scaling(wanted, live, BY_SPEC, autoscaled=autoscaled) == expected


@given(st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1))
def test_a_note_is_read_as_it_was_written(replicas: int, spec: int) -> None:
    assert kept_of(Kept(replicas, spec).note) == Kept(replicas, spec)


COUNTS = st.integers(0, 4)
EVENTS = st.one_of(
    st.tuples(st.just("autoscaler"), st.booleans()),
    st.tuples(st.just("scaled"), COUNTS),
    st.tuples(st.just("spec"), COUNTS),
    st.tuples(st.just("reconciled"), st.just(0)),
)


@given(COUNTS, st.lists(EVENTS, max_size=30))
def test_the_count_is_unchanged_at_each_change_of_its_owner(first: int, events: list[tuple[str, int]]) -> None:
    """Only two causes change the count: an existing autoscaler, and a change of the spec without one.

    The operator may miss any number of events, as it reconciles only at times. The counts are few, so they collide.
    """
    wanted, live, note, autoscaled = first, first, None, False
    followed = first  # spec.replicas at the last decision without an autoscaler
    for what, value in events:
        if what == "autoscaler":
            autoscaled = bool(value)
        elif what == "spec":
            wanted = value
        elif what == "scaled" and autoscaled and note == AUTOSCALED:
            live = value
        elif what == "reconciled":
            said = scaling(wanted, live, note, autoscaled=autoscaled)
            changed = not autoscaled and note != AUTOSCALED and wanted != followed
            after = live if said.replicas is None else said.replicas
            assert after == (wanted if changed else live)
            followed = followed if autoscaled else wanted
            live, note = after, said.note
            assert scaling(wanted, live, note, autoscaled=autoscaled) == said, "a second decision changes nothing"


def test_the_note_is_on_the_deployment_alone() -> None:
    made = deployment(webapp(annotations={"a": "b"}), Scaling(7, "kept=7,spec=1"))
    assert made["spec"]["replicas"] == 7
    assert made["metadata"]["annotations"] == {"a": "b", ANNOTATION: "kept=7,spec=1"}
    assert ANNOTATION not in repr(made["spec"])


def test_without_a_count_the_manifest_leaves_replicas_out() -> None:
    made = deployment(webapp(replicas=3), Scaling(None, AUTOSCALED))
    assert "replicas" not in made["spec"]
    assert made["metadata"]["annotations"] == {ANNOTATION: AUTOSCALED}


def test_by_default_the_spec_decides() -> None:
    made = deployment(webapp(replicas=3))
    assert made["spec"]["replicas"] == 3
    assert "annotations" not in made["metadata"]
