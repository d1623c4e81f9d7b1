"""manifests/argocd: what Argo CD shows of a WebApp, computed by a Lua 5.1 with no more in it than Argo CD's has."""

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
from unit.reported import HEALTHS, deleted, held_field, reported, saying, unreported

ROOT = Path(__file__).parents[2]
DIRECTORY = ROOT / "manifests" / "argocd"
SCRIPT = (DIRECTORY / "health.lua").read_text(encoding="utf-8")

ALLOWED = {
    *("_G", "_VERSION", "assert", "collectgarbage", "error", "getmetatable", "ipairs", "next", "pairs", "pcall"),
    *("rawequal", "rawget", "rawset", "select", "setmetatable", "table", "tonumber", "tostring", "type", "unpack"),
    "xpcall",
}
"""Globals of Lua 5.1 that Argo CD opens for a check in argocd-cm and that touch nothing outside: base and table, and
neither string nor math (runLua in https://github.com/argoproj/argo-cd/blob/master/util/lua/lua.go)."""

Verdict = tuple[str, str]


def sandbox() -> LuaRuntime:
    """A Lua with what Argo CD's has. Strings have no methods either, as those are the string library's."""
    lua = LuaRuntime(register_eval=False, register_builtins=False)
    lua.execute("getmetatable('').__index = nil")
    names = lua.globals()
    for name in [name for name in names if name not in ALLOWED]:
        names[name] = None
    return lua


def run(script: str, webapp: Mapping[str, Any]) -> Verdict:
    """The verdict of a check."""
    lua = sandbox()
    lua.globals()["obj"] = lua.table_from(webapp, recursive=True)
    result = dict(lua.execute(script))
    assert result.keys() == {"status", "message"}
    assert result["status"] in ("Healthy", "Progressing", "Degraded", "Suspended")
    return result["status"], result["message"]


def health(webapp: Mapping[str, Any]) -> Verdict:
    """What Argo CD shows of a WebApp."""
    return run(SCRIPT, webapp)


def message(webapp: Mapping[str, Any], kind: str) -> str:
    """What a condition says."""
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
    "ReadinessProbeFailing": "Progressing",
    "StartupProbeFailing": "Progressing",
    "Evicted": "Progressing",
}


TOLD_BY_A_CONDITION = {"Contested", *(state.reason for state in HEALTHS.values() if state.stalled)}


def test_each_state_has_a_verdict() -> None:
    assert EXPECTED.keys() == HEALTHS.keys()


@pytest.mark.parametrize("name", HEALTHS)
def test_each_state(name: str) -> None:
    webapp = reported(HEALTHS["healthy"], HEALTHS[name])
    assert health(webapp) == (EXPECTED[name], message(webapp, "Contested" if name == "contested" else "Ready"))


@pytest.mark.parametrize("name", HEALTHS)
def test_paused_is_suspended_and_says_what_is_wrong(name: str) -> None:
    webapp = reported(HEALTHS[name], paused=True)
    well = EXPECTED[name] == "Healthy"
    told = "spec.paused is true" + ("" if well else f"; {message(webapp, 'Ready')}")
    assert health(webapp) == ("Suspended", told)


@pytest.mark.parametrize("name", HEALTHS)
def test_what_is_being_deleted_is_progressing(name: str) -> None:
    assert health(deleted(reported(HEALTHS[name]))) == ("Progressing", "is being deleted")
    assert health(deleted(unreported())) == ("Progressing", "is being deleted")


@pytest.mark.parametrize("paused", [False, True])
@pytest.mark.parametrize("name", HEALTHS)
def test_the_status_of_an_older_generation_is_not_believed(name: str, paused: bool) -> None:
    webapp = reported(HEALTHS[name], generation=2, observed=1, paused=paused)
    assert health(webapp) == ("Progressing", "waits for Coxswain to look at it")


@pytest.mark.parametrize("status", [None, {}, {"observedGeneration": 0}, {"conditions": []}])
def test_before_the_first_status_it_is_progressing(status: dict[str, Any] | None) -> None:
    webapp = unreported() if status is None else {**unreported(), "status": status}
    assert health(webapp) == ("Progressing", "waits for Coxswain to look at it")


def test_a_status_without_conditions_is_progressing() -> None:
    webapp = {**unreported(), "status": {"observedGeneration": 1}}
    assert health(webapp) == ("Progressing", "waits for Coxswain to say whether it is ready")


@pytest.mark.parametrize("kind", ["Ready", "Stalled", "Contested", "Conflicted"])
def test_a_condition_of_an_older_generation_is_not_believed(kind: str) -> None:
    """So may one be that another writer put there; the operator's own are all of one generation."""
    webapp = reported(HEALTHS["healthy"], generation=2)
    old = saying(webapp, {"type": kind, "status": "True", "message": "old", "observedGeneration": 1})
    expected = ("Progressing", "waits for Coxswain to say whether it is ready") if kind == "Ready" else health(webapp)
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


@pytest.mark.parametrize("name", [name for name, verdict in EXPECTED.items() if verdict != "Healthy"])
def test_a_field_left_to_another_manager_hides_nothing(name: str) -> None:
    assert health(reported(HEALTHS[name], fields=[YIELDED])) == health(reported(HEALTHS[name]))


def test_a_conflict_that_halts_is_degraded() -> None:
    webapp = reported(HEALTHS["healthy"], HEALTHS["halted"], fields=[YIELDED, HALTED])
    assert health(webapp) == ("Degraded", message(webapp, "Stalled"))


@pytest.mark.parametrize("name", ["healthy", "rolling out", "contested"])
def test_a_contested_field_is_degraded(name: str) -> None:
    """Also where all children are well at this moment, as the other manager holds the value that is wanted just now."""
    webapp = reported(HEALTHS[name], fields=[CONTESTED])
    assert health(webapp) == ("Degraded", message(webapp, "Contested"))


@settings(deadline=None)
@given(
    healths=st.lists(st.sampled_from(sorted(HEALTHS)), max_size=4),
    paused=st.booleans(),
    behind=st.integers(0, 1),
    gone=st.booleans(),
)
def test_it_is_healthy_only_if_all_children_are_at_this_generation(
    healths: list[str], paused: bool, behind: int, gone: bool
) -> None:
    webapp = reported(*(HEALTHS[name] for name in healths), generation=2, observed=2 - behind, paused=paused)
    verdict, _ = health(deleted(webapp) if gone else webapp)
    well = all(EXPECTED[name] == "Healthy" for name in healths) and not (paused or behind or gone)
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
    """Argo CD makes a Lua for each object; a name that is forgotten to be local would be found only by luck."""
    lua = sandbox()
    lua.globals()["obj"] = lua.table_from(reported(HEALTHS["rejected"]), recursive=True)
    before = set(lua.globals())
    lua.execute(SCRIPT)
    assert set(lua.globals()) == before


def test_the_component_takes_the_script_as_it_is() -> None:
    """The Lua is there once: kustomize reads it into the key that Argo CD looks for."""
    component = yaml.safe_load((DIRECTORY / "kustomization.yaml").read_text(encoding="utf-8"))
    assert component["kind"] == "Component"
    (generator,) = component["configMapGenerator"]
    assert (generator["name"], generator["behavior"]) == ("argocd-cm", "merge")
    assert generator["files"] == [f"resource.customizations.health.{GROUP}_{KIND}=health.lua"]
    assert sorted(path.name for path in DIRECTORY.iterdir()) == ["health.lua", "kustomization.yaml"]
