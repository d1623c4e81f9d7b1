"""Scripts of the fault suite are data: they survive a round trip through a file, and errors are named."""

import json
from typing import Any, get_args, get_type_hints

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test

from fault_engine.lives import life
from fault_engine.plan import Answer, Hide, Kill, Match, Rule
from fault_engine.script import (
    STEPS,
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
    Storm,
    Wait,
    from_json,
    inject,
    kubectl,
    patch,
    to_json,
    without_faults,
)
from faults.machine import Mix, request_rules, watch_rules
from faults.script_state import LONG_SETTLE_SECONDS, SETTLE_SECONDS, Plot, counts_hold

_text = st.text(max_size=20)
_seconds = st.floats(0, 1e6)
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | _seconds | _text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_text, inner, max_size=3),
    max_leaves=8,
)
_edits = st.builds(
    Edit,
    _text,
    _text,
    _json,
    st.sampled_from(("merge", "json", "strategic", "apply")),
    manager=_text,
    refusable=st.booleans(),
)


def _whats(kind: type[Any]) -> st.SearchStrategy[str]:
    return st.sampled_from(get_args(get_type_hints(kind)["what"]))


STEP_STRATEGIES: dict[type[Any], st.SearchStrategy[Any]] = {
    Kubectl: st.builds(Kubectl, st.lists(_text, max_size=4).map(tuple), _json),
    Settle: st.builds(Settle, _seconds),
    Wait: st.builds(Wait, _seconds),
    Inject: st.builds(Inject, st.lists(request_rules | watch_rules, max_size=3).map(tuple)),
    Lift: st.builds(Lift),
    Met: st.builds(Met),
    Operator: st.builds(Operator, _whats(Operator)),
    Program: st.builds(Program, _text, _whats(Program)),
    Disaster: st.builds(Disaster, _text),
    Cut: st.builds(Cut, _text),
    Remember: st.builds(Remember),
    Edit: _edits,
    Storm: st.builds(
        Storm, st.lists(st.lists(_edits, max_size=2).map(tuple), max_size=2).map(tuple), _seconds, _seconds
    ),
    Fight: st.builds(Fight, _edits),
    Peace: st.builds(Peace),
    Probe: st.builds(Probe, _json, _text, st.booleans()),
    Procedure: st.builds(Procedure, _text, st.lists(st.integers(1, 9), max_size=2).map(tuple)),
    Life: st.builds(Life, _text, st.integers(0, 9), _text),
}
scripts = st.lists(st.one_of(*STEP_STRATEGIES.values()), max_size=6).map(tuple)


def test_every_step_is_tried_here() -> None:
    assert set(STEP_STRATEGIES) == set(STEPS.values())


@given(scripts)
def test_what_is_written_is_read_again(script: Script) -> None:
    assert from_json(json.loads(json.dumps(to_json(script)))) == script


@given(scripts)
def test_a_script_without_its_faults_is_what_users_do(script: Script) -> None:
    plain = without_faults(script)
    assert without_faults(plain) == plain
    assert [step for step in script if isinstance(step, Kubectl | Settle)] == [
        step for step in plain if isinstance(step, Kubectl | Settle)
    ]
    assert not any(isinstance(step, Inject | Lift | Operator | Program | Disaster | Cut) for step in plain)


def test_lives_are_read_again() -> None:
    assert from_json(to_json(life())) == life()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([{"step": "Lift"}, {"step": "Dance"}], "step 2: `step` must be one of Kubectl"),
        ([{}], "step 1: `step` must be one of Kubectl"),
        ([{"step": "Settle", "patience": 3}], "step 1: .*patience"),
        ([{"step": "Wait"}], "step 1: .*table"),
        ([{"step": "Inject", "rules": [{"action": {"kind": "Bribe"}}]}], "rule 1: action.kind must be one of"),
    ],
)
def test_what_is_wrong_is_named(data: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        from_json(data)


def mixed(examples: int) -> list[Script]:
    """Return scripts of the random mix, the same ones each time."""
    found: list[Script] = []

    @hypothesis.seed(1)
    def machine() -> Mix:
        return Mix(found.append)

    chosen = settings(
        max_examples=examples,
        stateful_step_count=12,
        database=None,
        phases=[Phase.generate],
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=chosen)  # type: ignore[arg-type]  # a function will do
    return found


@pytest.mark.thorough
def test_mixed_scripts_are_well_formed() -> None:
    scripts = mixed(150)
    assert len({json.dumps(to_json(script)) for script in scripts}) > 100, "too few scripts differ"
    for script in scripts:
        _must_be_well_formed(script)
        assert from_json(to_json(script)) == script
    used = {type(step) for script in scripts for step in script}
    assert used >= {Kubectl, Settle, Inject, Lift, Operator, Program, Disaster, Cut}


def _must_be_well_formed(script: Script) -> None:
    """Follow the operator, the faults and the programs. All run again at a Settle, and none is killed twice."""
    operator, injected, kills, away = "runs", False, False, set[str]()
    after = {"start": ("is down", "runs"), "resume": ("is paused", "runs"), "pause": ("runs", "is paused")}
    for step in script:
        assert not away or isinstance(step, Program), f"{step} while {away} is stopped"
        match step:
            case Operator(what):
                before, then = after.get(what, ("runs", "is down"))
                assert operator == before, f"{what} while the operator {operator}"
                assert not kills, f"{what} while a rule may kill it"
                operator = then
            case Inject(rules):
                assert not injected
                injected, kills = True, kills or any(isinstance(rule.action, Kill) for rule in rules)
            case Lift():
                assert injected
                injected = False
            case Program(name, what):
                (away.add if what in ("kill", "pause") else away.remove)(name)
            case Settle():
                assert (operator, injected) == ("runs", False)
                kills = False
    assert isinstance(script[-1], Settle)


def test_operations_that_race_are_kept_apart() -> None:
    plot = Plot()
    plot.operate("create", "web")
    assert {operation for operation, name in plot.operations() if name == "web"} == {"delete"}
    plot.settle()
    plot.operate("change to 1", "web")
    offered = {operation for operation, name in plot.operations() if name == "web"}
    assert offered == {"delete"}, "a second change may prevent the ReplicaSet of the first"
    plot.settle()
    plot.operate("strip owner service", "web")
    offered = {operation for operation, name in plot.operations() if name == "web"}
    assert "delete" not in offered, "after a deletion the Service may stay or not"
    assert not {operation for operation in offered if operation.startswith("change")}
    assert "edit service" in offered


def test_what_was_hidden_is_waited_for_longer() -> None:
    plot = Plot()
    plot.inject(Rule(Match("watch"), Hide("web")))
    plot.settle()
    plot.operate("create", "web")
    timeouts = [step.timeout for step in plot.script() if isinstance(step, Settle)]
    assert timeouts == [LONG_SETTLE_SECONDS, SETTLE_SECONDS]


CREATED = kubectl("apply", "-f", "-", object={})


@pytest.mark.parametrize(
    ("script", "hold"),
    [
        ((CREATED, Settle(), kubectl("delete", "service", "web"), Settle()), True),
        ((CREATED, kubectl("delete", "webapp", "web"), Settle()), False),
        ((CREATED, inject(Rule(Match(), Answer(500))), Settle(), Lift()), True),
        ((CREATED, Program("kube-apiserver", "kill"), Program("kube-apiserver", "start"), Settle()), False),
        ((CREATED, Settle(), patch("deployment", "web", {"spec": {"replicas": 5}}), Settle()), False),
        ((CREATED, Settle(), kubectl("scale", "webapp", "web", "--replicas=3"), Settle()), False),
    ],
)
def test_counts_hold_where_nothing_races(script: Script, hold: bool) -> None:
    assert counts_hold(script) is hold
