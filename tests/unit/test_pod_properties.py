"""Properties of the causes of pods: they depend neither on order nor on counts, and no start in time has one."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unit.pod_states import CRASH_LOOP, NOW, PULL_LOOP, STARTS, container, ended, pod, running, unscheduled, waiting
from unit.test_pods import diagnosed, failed, told

OTHERS = [
    container(waiting("CreateContainerConfigError", f'{what} (pod: "web-new-1_shop(7f3e)", container: app)'))
    for what in ("runs as root", 'secret "a" not found', 'secret "b" not found')
] + [container(ended(code, message=message), restarts=1) for code in (2, 3) for message in ("at 12:01", "at 12:02", "")]
ANY_POD = st.sampled_from(
    [pod(state) for state in (*CRASH_LOOP, *PULL_LOOP, *STARTS, *OTHERS)]
    + [unscheduled("0/3 nodes"), unscheduled("0/4 nodes"), failed(30)]
)


@pytest.mark.thorough
@given(st.lists(st.tuples(ANY_POD, st.from_regex(r"web-[bcdf]{5}-[bcdf]{5}", fullmatch=True))), st.randoms())
def test_the_cause_depends_neither_on_order_nor_on_names(pods: list[tuple[Any, str]], chance: Any) -> None:
    def named(thing: Any, name: str) -> Any:
        return json.loads(json.dumps(thing).replace("web-new-1", name))  # the kubelet's messages contain the name, too

    found = diagnosed(*(thing for thing, _ in pods))
    shuffled = [named(*pair) for pair in pods]
    chance.shuffle(shuffled)
    other = diagnosed(*shuffled)
    assert (len(other.pods), replace(other, pods=found.pods)) == (len(found.pods), found)


@given(st.sampled_from(CRASH_LOOP), st.integers(2, 10000), st.integers(2, 10000))
def test_the_cause_depends_on_no_count_of_restarts(state: Any, one: int, other: int) -> None:
    assert told(pod({**state, "restartCount": one})) == told(pod({**state, "restartCount": other}))


SECONDS = st.integers(1, 60)
PROBES = st.fixed_dictionaries(
    {},
    optional={
        "initialDelaySeconds": st.integers(0, 60),
        "periodSeconds": SECONDS,
        "timeoutSeconds": SECONDS,
        "successThreshold": st.integers(1, 5),
        "failureThreshold": st.integers(1, 60),
    },
)


@given(PROBES, PROBES, st.booleans(), st.integers(0, 9), st.floats(0, 1))
def test_a_container_that_starts_within_its_probes_time_has_no_cause(
    startup: Any, readiness: Any, has_startup: bool, restarts: int, part: float
) -> None:
    """Holds for any probes, even if the container is ready only after the last tolerated failure."""

    def last_moment(probe: Any) -> float:
        period = max(probe.get("periodSeconds", 10), probe.get("timeoutSeconds", 1))
        failures = probe.get("failureThreshold", 3) - 1 + probe.get("successThreshold", 1)
        return float(probe.get("initialDelaySeconds", 0) + failures * period + probe.get("timeoutSeconds", 1))

    spec = {"readinessProbe": {"exec": {}, **readiness}}
    spec |= {"startupProbe": {"exec": {}, **startup}} if has_startup else {}
    elapsed = part * (last_moment(readiness) + (last_moment(startup) if has_startup else 0))
    started = not has_startup or elapsed > last_moment(startup)
    state = container(running(elapsed), ended(ran=86400), restarts=restarts, started=started)
    found = diagnosed(pod(state), **spec)
    assert found.cause is None
    assert found.until is not None
    assert found.until > NOW
