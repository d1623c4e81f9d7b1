"""manifests/argocd: the health of a WebApp in Argo CD, computed by a Lua 5.1 restricted like the one of Argo CD."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from lupa.lua51 import LuaError, LuaRuntime  # type: ignore[import-untyped]

from coxswain.kernel.conflicts.policy import Policy
from coxswain.webapp.spec import GROUP, KIND
from unit.webapp_states import HEALTHS, deleted, held_field, reported, saying, unreported

ROOT = Path(__file__).parents[2]
DIRECTORY = ROOT / "manifests" / "argocd"
SCRIPT = (DIRECTORY / "health.lua").read_text(encoding="utf-8")

ALLOWED = {
    *("_G", "_VERSION", "assert", "collectgarbage", "error", "getmetatable", "ipairs", "next", "pairs", "pcall"),
    *("rawequal", "rawget", "rawset", "select", "setmetatable", "table", "tonumber", "tostring", "type", "unpack"),
    "xpcall",
}
"""Globals of Lua 5.1 opened by Argo CD for a check in argocd-cm, without side effects: base and table.
string and math are missing (runLua in https://github.com/argoproj/argo-cd/blob/master/util/lua/lua.go)."""

Verdict = tuple[str, str]


def sandbox() -> LuaRuntime:
    """Return a Lua restricted like Argo CD's. Strings have no methods either: these belong to the string library."""
    lua = LuaRuntime(register_eval=False, register_builtins=False)
    lua.execute("getmetatable('').__index = nil")
    names = lua.globals()
    for name in [name for name in names if name not in ALLOWED]:
        names[name] = None
    return lua


def run(script: str, webapp: Mapping[str, Any]) -> Verdict:
    """Return the result of a check."""
    lua = sandbox()
    lua.globals()["obj"] = lua.table_from(webapp, recursive=True)
    result = dict(lua.execute(script))
    assert result.keys() == {"status", "message"}
    assert result["status"] in ("Healthy", "Progressing", "Degraded", "Suspended")
    return result["status"], result["message"]


def health(webapp: Mapping[str, Any]) -> Verdict:
    """Return Argo CD's health of a WebApp."""
    return run(SCRIPT, webapp)


def healths(webapps: Mapping[str, Mapping[str, Any]]) -> dict[str, Verdict]:
    """Return Argo CD's health of several WebApps, by the name of the case."""
    return {name: health(webapp) for name, webapp in webapps.items()}


def message(webapp: Mapping[str, Any], kind: str) -> str:
    """Return the message of a condition."""
    return next(str(found["message"]) for found in webapp["status"]["conditions"] if found["type"] == kind)


EXPECTED: Mapping[str, str] = {
    "healthy": "Healthy",
    "held by an admission policy": "Healthy",
    "complete": "Healthy",
    "missing": "Progressing",
    "terminating": "Progressing",
    "held back": "Progressing",
    "held back, and there": "Progressing",
    "not observed": "Progressing",
    "rolling out": "Progressing",
    "past its deadline": "Degraded",
    "past its deadline, with a cause": "Degraded",
    "no pod can be made": "Progressing",
    "name taken": "Degraded",
    "rejected": "Degraded",
    "forbidden": "Degraded",
    "denied": "Degraded",
    "no answer": "Progressing",
    "differs while paused": "Progressing",
    "halted": "Degraded",
    "contested": "Degraded",
    "InvalidImageName": "Degraded",
    "ErrImageNeverPull": "Degraded",
    "ImagePullBackOff": "Progressing",
    "CreateContainerConfigError": "Progressing",
    "CreateContainerError": "Progressing",
    "RunContainerError": "Degraded",
    "CrashLoopBackOff": "Degraded",
    "OOMKilled": "Degraded",
    "Unschedulable": "Progressing",
    "ContainerCreating": "Progressing",
    "ReadinessProbeFailing": "Progressing",
    "StartupProbeFailing": "Progressing",
    "Evicted": "Progressing",
}


TOLD_BY_A_CONDITION = {"Contested", *(state.reason for state in HEALTHS.values() if state.stalled)}


def test_each_state_has_a_verdict() -> None:
    assert EXPECTED.keys() == HEALTHS.keys()


def test_each_state() -> None:
    webapps = {name: reported(HEALTHS["healthy"], state) for name, state in HEALTHS.items()}
    assert healths(webapps) == {
        name: (EXPECTED[name], message(webapp, "Contested" if name == "contested" else "Ready"))
        for name, webapp in webapps.items()
    }


def test_a_paused_webapp_is_suspended_and_its_message_has_the_problem() -> None:
    webapps = {name: reported(state, paused=True) for name, state in HEALTHS.items()}
    problems = {
        name: "" if EXPECTED[name] == "Healthy" else f"; {message(webapp, 'Ready')}" for name, webapp in webapps.items()
    }
    assert healths(webapps) == {
        name: ("Suspended", f"spec.paused is true{problem}") for name, problem in problems.items()
    }


def test_a_webapp_with_a_deletion_timestamp_is_progressing() -> None:
    webapps = {name: deleted(reported(state)) for name, state in HEALTHS.items()} | {"new": deleted(unreported())}
    assert healths(webapps) == dict.fromkeys(webapps, ("Progressing", "being deleted"))


@pytest.mark.parametrize("paused", [False, True])
def test_the_status_of_an_older_generation_is_ignored(paused: bool) -> None:
    webapps = {name: reported(state, generation=2, observed=1, paused=paused) for name, state in HEALTHS.items()}
    expected = ("Progressing", "waiting for Coxswain to reconcile this generation")
    assert healths(webapps) == dict.fromkeys(webapps, expected)


@pytest.mark.parametrize("status", [None, {}, {"observedGeneration": 0}, {"conditions": []}])
def test_before_the_first_status_it_is_progressing(status: dict[str, Any] | None) -> None:
    webapp = unreported() if status is None else {**unreported(), "status": status}
    assert health(webapp) == ("Progressing", "waiting for Coxswain to reconcile this generation")


def test_a_status_without_conditions_is_progressing() -> None:
    webapp = {**unreported(), "status": {"observedGeneration": 1}}
    assert health(webapp) == ("Progressing", "waiting for Coxswain to report the condition Ready")


@pytest.mark.parametrize("kind", ["Ready", "Stalled", "Contested", "Conflicted"])
def test_a_condition_of_an_older_generation_is_not_believed(kind: str) -> None:
    """Only another writer leaves such a condition; the operator writes all conditions with one generation."""
    webapp = reported(HEALTHS["healthy"], generation=2)
    old = saying(webapp, {"type": kind, "status": "True", "message": "old", "observedGeneration": 1})
    expected = (
        ("Progressing", "waiting for Coxswain to report the condition Ready") if kind == "Ready" else health(webapp)
    )
    assert health(old) == expected


@pytest.mark.parametrize(("status", "reason"), [("False", "Else"), ("Unknown", "Else"), ("Unknown", "Forbidden")])
def test_a_ready_that_is_not_known_to_need_people_is_progressing(status: str, reason: str) -> None:
    webapp = reported(HEALTHS["healthy"])
    other = {"type": "Ready", "status": status, "reason": reason, "message": "somehow"}
    assert health(saying(webapp, other)) == ("Progressing", "somehow")


YIELDED, HALTED = held_field(Policy.YIELD), held_field(Policy.HALT)
CONTESTED = held_field(Policy.ENFORCE, contested=True)


def test_a_field_left_to_another_manager_is_healthy_and_told() -> None:
    webapp = reported(HEALTHS["healthy"], fields=[YIELDED])
    assert health(webapp) == ("Healthy", message(webapp, "Conflicted"))
    assert "flux" in message(webapp, "Conflicted")


def test_a_field_left_to_another_manager_hides_no_problem() -> None:
    problems = {name: state for name, state in HEALTHS.items() if EXPECTED[name] != "Healthy"}
    yielded = {name: reported(state, fields=[YIELDED]) for name, state in problems.items()}
    assert healths(yielded) == healths({name: reported(state) for name, state in problems.items()})


def test_a_conflict_that_halts_is_degraded() -> None:
    webapp = reported(HEALTHS["healthy"], HEALTHS["halted"], fields=[YIELDED, HALTED])
    assert health(webapp) == ("Degraded", message(webapp, "Stalled"))


@pytest.mark.parametrize("name", ["healthy", "rolling out", "contested"])
def test_a_contested_field_is_degraded(name: str) -> None:
    """Also if all children are healthy now, because the other manager currently sets the desired value."""
    webapp = reported(HEALTHS[name], fields=[CONTESTED])
    assert health(webapp) == ("Degraded", message(webapp, "Contested"))


@settings(deadline=None)
@given(
    names=st.lists(st.sampled_from(sorted(HEALTHS)), max_size=4),
    paused=st.booleans(),
    behind=st.integers(0, 1),
    gone=st.booleans(),
)
def test_it_is_healthy_only_if_all_children_are_at_this_generation(
    names: list[str], paused: bool, behind: int, gone: bool
) -> None:
    webapp = reported(*(HEALTHS[name] for name in names), generation=2, observed=2 - behind, paused=paused)
    verdict, _ = health(deleted(webapp) if gone else webapp)
    well = all(EXPECTED[name] == "Healthy" for name in names) and not (paused or behind or gone)
    assert (verdict == "Healthy") == well


def test_the_reasons_that_need_people_are_reasons_that_children_have() -> None:
    (table,) = re.findall(r"local needs_people = \{(.*?)\}", SCRIPT, re.DOTALL)
    reasons = set(re.findall(r"(\w+) = true", table))
    degraded = {state.reason for name, state in HEALTHS.items() if EXPECTED[name] == "Degraded"}
    assert reasons == degraded - TOLD_BY_A_CONDITION
    told = (ROOT / "docs" / "gitops.md").read_text(encoding="utf-8")
    (row,) = [line for line in told.splitlines() if line.startswith("| Ready") and "waiting does not resolve:" in line]
    assert set(re.findall(r"`(\w+)`", row)) == reasons


@pytest.mark.parametrize(
    "body",
    [
        "return string.format('%s', 'x')",
        "return ('x'):upper()",
        "return math.floor(1.5)",
        "return os.time()",
        "return io.open('x')",
        "return require('os')",
        "return python.eval('1')",
    ],
)
def test_the_sandbox_has_no_more_than_argo_cd_gives(body: str) -> None:
    sandbox().execute("return table.concat({type(1), tostring(2)})")
    with pytest.raises(LuaError, match="attempt to"):
        sandbox().execute(body)


def test_the_check_leaves_no_globals() -> None:
    """Argo CD creates a Lua for each object, so only luck would reveal a missing `local`."""
    lua = sandbox()
    lua.globals()["obj"] = lua.table_from(reported(HEALTHS["rejected"]), recursive=True)
    before = set(lua.globals())
    lua.execute(SCRIPT)
    assert set(lua.globals()) == before


def test_the_component_takes_the_script_as_it_is() -> None:
    """The Lua exists once: kustomize reads it into the key expected by Argo CD."""
    component = yaml.safe_load((DIRECTORY / "kustomization.yaml").read_text(encoding="utf-8"))
    assert component["kind"] == "Component"
    (generator,) = component["configMapGenerator"]
    assert (generator["name"], generator["behavior"]) == ("argocd-cm", "merge")
    assert generator["files"] == [f"resource.customizations.health.{GROUP}_{KIND}=health.lua"]
    assert sorted(path.name for path in DIRECTORY.iterdir()) == ["health.lua", "kustomization.yaml"]
