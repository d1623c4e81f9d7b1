"""The text and the structured output of the plugin, apart from its commands."""

import io
import re
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kubectl_coxswain.ages import age, duration
from kubectl_coxswain.completion import BASH, ZSH, candidates
from kubectl_coxswain.pods import info, pod_state
from kubectl_coxswain.reports import Node
from kubectl_coxswain.screen import Screen, Span, cells, cut, fitted, screen_of, wrapped
from kubectl_coxswain.structured import as_yaml
from kubectl_coxswain.tree_text import write_tree
from unit.plugin_bench import PluginBench

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x85\u2028\u2029\ufeff"), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_yaml_has_the_same_values(value: Any) -> None:
    assert yaml.safe_load(as_yaml(value)) == value


@pytest.mark.parametrize(
    "text", ["yes", "No", "null", "1", "1.5", "2026-01-01", "a: b", "- a", "", " a", "#a", "~", "1e3", "0x1", "=", "<<"]
)
def test_texts_stay_texts_in_yaml(text: str) -> None:
    assert yaml.safe_load(as_yaml({"a": text, text: 1})) == {"a": text, text: 1}


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("✔ a", 3), ("", 0)])
def test_cells(text: str, width: int) -> None:
    assert cells(text) == width


@given(st.text("ab 日e\u0301", max_size=40), st.integers(3, 30))
def test_no_line_is_wider_than_the_terminal(text: str, width: int) -> None:
    assert cells(cut(text, width)) <= width
    longest = max((cells(word) for word in text.split()), default=0)
    assert all(cells(line) <= max(width, longest) for line in wrapped(text, width))
    assert " ".join(wrapped(text, width)).split() == text.split()
    assert " ".join(wrapped(text, width, 2)).split() == text.split()


def test_columns_stay_aligned_beside_wide_characters() -> None:
    stream = io.StringIO()
    Screen(stream).table(("A", "B"), [("日本", "x"), ("ab", "y")])
    lines = stream.getvalue().splitlines()
    assert {cells(line.rstrip("xyB")) for line in lines} == {6}


@pytest.mark.parametrize("width", [50, 60, 80])
def test_a_narrow_table_has_each_column(width: int) -> None:
    stream = io.StringIO()
    header = ("OBJECT", "FIELD", "MANAGER", "POLICY")
    row = ("Deployment/shop", "spec.template.spec.containers[name=app].image", "kubectl-client-side-apply", "Yield")
    Screen(stream, width=width, glyphs=True).table(header, [row])
    head, line = stream.getvalue().splitlines()
    assert (head.split(), line.split()[-1]) == ([*header], "Yield")
    assert max(cells(head), cells(line)) <= width


@pytest.mark.parametrize("widths", [(4, 15, 60, 25, 6), (4, 4, 100), (3,)])
def test_columns_give_way_only_as_far_as_they_must(widths: tuple[int, ...]) -> None:
    for room in range(30, sum(widths) + 3):
        found = fitted(widths, room)
        assert sum(found) == min(room, sum(widths))
        assert all(each == was or each >= max(found) - 1 for each, was in zip(found[:-1], widths[:-1], strict=True))


def test_the_state_in_a_narrow_tree_has_a_place() -> None:
    stream = io.StringIO()
    tree = Node(
        "WebApp", "web", "Degraded", children=[Node("Deployment", "a-very-long-name-of-an-application", "Healthy")]
    )
    write_tree(Screen(stream, width=40, glyphs=True), tree, datetime(2026, 1, 1, tzinfo=UTC))
    assert re.findall("Degraded|Healthy", stream.getvalue()) == ["Degraded", "Healthy"]


def test_the_marks_of_colour_take_no_width() -> None:
    stream = io.StringIO()
    Screen(stream, width=10, colour=True, glyphs=True).line(Span("123456", "bad"), Span("789012", "good"))
    assert stream.getvalue() == "\x1b[31m123456\x1b[0m\x1b[32m789…\x1b[0m\n"


def test_a_stream_that_is_no_terminal_gets_plain_text() -> None:
    screen = screen_of(io.TextIOWrapper(io.BytesIO(), encoding="ascii"), {"TERM": "xterm", "COLUMNS": "20"})
    assert (screen.width, screen.glyphs, screen.mark("bad")) == (None, False, "")


class Terminal(io.TextIOWrapper):
    """A terminal with an encoding."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "encoding", "colour", "glyphs"),
    [
        ({"TERM": "xterm"}, "utf-8", True, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, "utf-8", False, True),
        ({"TERM": "dumb"}, "utf-8", False, False),
        ({}, "utf-8", False, False),
        ({"TERM": "xterm"}, "ascii", True, False),
    ],
)
def test_terminals(environment: dict[str, str], encoding: str, colour: bool, glyphs: bool) -> None:
    screen = screen_of(Terminal(io.BytesIO(), encoding=encoding), {**environment, "COLUMNS": "90"})
    screen.line(Span("a", "bad"))
    assert (screen.width, screen._colour, screen.glyphs) == (90, colour, glyphs)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (600, "10m"),
        (10800, "3h"),
        (11100, "3h5m"),
        (172800, "2d"),
        (176400, "2d1h"),
        (63072000, "2y"),
        (-5, "0s"),
    ],
)
def test_durations(seconds: int, text: str) -> None:
    assert duration(seconds) == text


def test_ages() -> None:
    now = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
    assert age("2026-01-01T00:00:00Z", now) == "60s"
    assert age("2026-01-01T00:00:00.123456Z", now) == "59s"
    assert age("", now) == ""


# Pods


def pod(phase: str = "Running", *statuses: dict[str, Any], **more: Any) -> dict[str, Any]:
    containers = [{"name": each["name"]} for each in statuses]
    status = {"phase": phase, "containerStatuses": list(statuses), **more}
    return {"metadata": {"name": "a"}, "spec": {"containers": containers}, "status": status}


def waiting(reason: str) -> dict[str, Any]:
    return {"name": "app", "ready": False, "restartCount": 3, "state": {"waiting": {"reason": reason}}}


UNSCHEDULABLE = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]


@pytest.mark.parametrize(
    ("found", "state"),
    [
        (pod("Pending"), ("Pending", "busy")),
        (pod("Pending", conditions=UNSCHEDULABLE), ("Unschedulable", "busy")),
        (pod("Pending", waiting("ContainerCreating")), ("ContainerCreating", "busy")),
        (pod("Pending", waiting("ImagePullBackOff")), ("ImagePullBackOff", "bad")),
        (pod("Running", waiting("CrashLoopBackOff")), ("CrashLoopBackOff", "bad")),
        (pod("Running", {"name": "app", "ready": False, "state": {"running": {}}}), ("NotReady", "busy")),
        (pod("Running", conditions=[{"type": "Ready", "status": "True"}]), ("Running", "good")),
        (pod("Failed"), ("Failed", "bad")),
        ({**pod(), "metadata": {"name": "a", "deletionTimestamp": "x"}}, ("Terminating", "busy")),
    ],
)
def test_states_of_pods(found: dict[str, Any], state: tuple[str, str]) -> None:
    assert pod_state(found) == state


def test_restarts_and_ready_containers_are_counted() -> None:
    assert info(pod("Running", waiting("CrashLoopBackOff"), {"name": "b", "ready": True})) == "ready 1/2, restarts 3"


def test_a_sidecar_is_counted_as_by_kubectl() -> None:
    names = [{"name": "migrate"}, {"name": "proxy", "restartPolicy": "Always"}]
    init = [{"name": "migrate", "ready": True, "restartCount": 1}, {"name": "proxy", "ready": True, "restartCount": 2}]
    status = {"initContainerStatuses": init, "containerStatuses": [{"name": "app", "ready": False}]}
    found = {"spec": {"initContainers": names, "containers": [{"name": "app"}]}, "status": status}
    assert info(found) == "ready 1/2, restarts 2"


# Completion


@pytest.mark.parametrize(
    ("words", "found", "files"),
    [
        (["pl"], "plan", False),
        (["undo", ""], "web", False),
        (["undo", "-n", "shop", ""], "web", False),
        (["status", "-o", ""], "wide", False),
        (["undo", "web", "--"], "--dry-run", False),
        (["completion", ""], "zsh", False),
    ],
)
def test_completion(words: list[str], found: str, files: bool) -> None:
    def run(arguments: Any, stdin: str | None = None, seconds: float | None = None) -> Any:  # noqa: ARG001
        from kubectl_coxswain.kubectl import Completed  # noqa: PLC0415

        return Completed(0, "webapp.coxswain.dev/web\n", "")

    result, is_file = candidates(words, run)
    assert found in result
    assert is_file is files


def test_completion_of_files_and_without_a_cluster() -> None:
    bench = PluginBench()
    assert candidates(["plan", "-f", ""], bench.kubectl) == ([], True)
    bench.kubectl.stderr = "no cluster"
    assert candidates(["undo", ""], bench.kubectl) == ([], False)


def test_the_scripts_ask_the_plugin() -> None:
    assert "kubectl-coxswain __complete" in BASH
    assert "kubectl-coxswain __complete" in ZSH
