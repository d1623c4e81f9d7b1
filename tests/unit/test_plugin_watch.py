"""`status --watch`: what it draws fits the terminal, and a short outage does not end it."""

import io
import json
import os
import re
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from coxswain.webapp.kinds import WEBAPP
from kubectl_coxswain import __main__
from kubectl_coxswain.canvas import Canvas
from kubectl_coxswain.kubectl import run_kubectl
from kubectl_coxswain.problems import NotLoggedIn, Unavailable, problem_of
from kubectl_coxswain.screen import Screen, cells, screen_of
from unit.plugin_bench import PluginBench
from unit.plugin_states import condition, healthy

REFUSED = "The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?"
FORBIDDEN = (
    'Error from server (Forbidden): webapps.coxswain.dev "web" is forbidden: User "bob" cannot get resource '
    '"webapps" in API group "coxswain.dev" in the namespace "shop"'
)
READY = [condition("Ready", "True", "Ready", "healthy")]
ROLLING = [condition("Ready", "False", "RollingOut", "rolling out")]


@pytest.fixture
def bench() -> PluginBench:
    found = PluginBench(replicas=2)
    healthy(found)
    found.status(conditions=ROLLING)
    return found


def outage(bench: PluginBench, stderr: str, *, rounds: int) -> None:
    """Let kubectl fail after the first look, and let the rollout finish after some rounds."""
    waited = []

    def slept() -> None:
        waited.append(1)
        bench.kubectl.stderr = None if len(waited) > rounds else stderr
        if len(waited) > rounds:
            bench.status(conditions=READY)

    bench.slept = slept


# Outages


@pytest.mark.parametrize("stderr", [REFUSED, "Error from server (InternalError): etcdserver: leader changed"])
def test_an_outage_does_not_end_it(bench: PluginBench, stderr: str) -> None:
    outage(bench, stderr, rounds=2)
    assert bench.run("status", "web", "--watch") == 0
    assert [line.partition(" ")[0] for line in bench.out.splitlines()] == ["Progressing", "Healthy"]
    assert bench.err.count("note: no answer at present, trying again: ") == 1


def test_a_change_whose_counts_got_no_answer_is_shown_by_the_next_look(bench: PluginBench) -> None:
    failures = [Unavailable("no answer", "")]

    def before(words: Sequence[str]) -> None:
        if "/deployments?" in words[-1] and failures:
            raise failures.pop()

    bench.kubectl.before = before
    looks = iter([ROLLING, READY])
    bench.slept = lambda: bench.status(conditions=next(looks))
    assert bench.run("status", "web", "--watch") == 0
    assert [line.partition(" ")[0] for line in bench.out.splitlines()] == ["Progressing", "Healthy"]


@pytest.mark.parametrize("width", [None, 200])
def test_a_list_that_always_fails_does_not_hide_the_end(bench: PluginBench, width: int | None) -> None:
    def before(words: Sequence[str]) -> None:
        if "/horizontalpodautoscalers?" in words[-1]:
            raise Unavailable("etcd: corrupt object", "")

    bench.kubectl.before = before
    looks = iter([ROLLING, ROLLING])
    bench.slept = lambda: bench.status(conditions=next(looks, READY))
    assert bench.run("status", "web", "--watch", "--timeout", "1m", width=width) == 0
    if width is None:
        assert (bench.out, bench.err) == ("", "note: no answer at present, trying again: etcd: corrupt object\n")


def test_an_outage_until_the_timeout_is_the_error(bench: PluginBench) -> None:
    outage(bench, REFUSED, rounds=1000)
    assert bench.run("status", "web", "--watch", "--timeout", "1m") == 1
    assert "error: the cluster cannot be reached: " in bench.err


@pytest.mark.parametrize(
    "stderr",
    [
        'Error from server (NotFound): webapps.coxswain.dev "web" not found',
        "error: You must be logged in to the server (Unauthorized)",
        "Unable to connect to the server: getting credentials: exec: executable aws failed with exit code 255",
        FORBIDDEN,
    ],
)
def test_what_no_repetition_mends_ends_it(bench: PluginBench, stderr: str) -> None:
    outage(bench, stderr, rounds=2)
    assert bench.run("status", "web", "--watch") == 1
    assert "error: " in bench.err


@pytest.mark.parametrize("text", ["unexpected EOF", "read: connection reset by peer", "http2: client connection lost"])
def test_a_lost_connection_is_an_outage(text: str) -> None:
    assert type(problem_of(f"error: {text}")) is Unavailable


def test_a_failed_login_is_none() -> None:
    assert type(problem_of("Unable to connect to the server: getting credentials: exec: x")) is NotLoggedIn


def test_a_contested_webapp_ends_it(bench: PluginBench) -> None:
    contested = condition("Contested", "True", "FieldsContested", "spec.replicas by x")
    bench.slept = lambda: bench.status(conditions=[*ROLLING, contested])
    assert bench.run("status", "web", "--watch") == 1
    assert bench.err.startswith("error: web is Contested: spec.replicas by x\n")


# The end


def test_the_timeout_does_not_follow_the_wall_clock(bench: PluginBench) -> None:
    looks = []

    def slept() -> None:
        looks.append(1)
        bench.now -= timedelta(hours=1)
        if len(looks) > 100:
            bench.status(conditions=READY)

    bench.slept = slept
    assert bench.run("status", "web", "--watch", "--timeout", "30s") == 1
    assert len(looks) == 30


def test_no_run_of_kubectl_outlasts_the_timeout(bench: PluginBench) -> None:
    bench.run("status", "web", "--watch", "--timeout", "30s")
    assert all(any(word == "--request-timeout=15s" for word in call) for call in bench.kubectl.calls)
    assert all(limit is not None for limit in bench.kubectl.limits)
    assert (bench.kubectl.limits[0], bench.kubectl.limits[-1]) == (30, 2), "the last look has 2 s"


def test_the_users_timeout_of_a_request_stays(bench: PluginBench) -> None:
    bench.run("status", "web", "--watch", "--timeout", "30s", "--request-timeout", "1s")
    found = {word for call in bench.kubectl.calls for word in call if word.startswith("--request-timeout")}
    assert found == {"--request-timeout=1s"}


def test_other_commands_have_no_limit(bench: PluginBench) -> None:
    assert bench.run("status", "web") == 0
    assert set(bench.kubectl.limits) == {None}
    assert not any(word.startswith("--request-timeout") for call in bench.kubectl.calls for word in call)


def test_a_run_without_an_answer_is_an_outage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "kubectl"
    program.write_text("#!/bin/sh\nexec sleep 20\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(Unavailable, match="kubectl got no answer within 0 s"):
        run_kubectl(["get"], seconds=0.2)


# Missing rights


NOTE = "deployments are missing here: you are not allowed to list deployments.apps in namespace shop"


def without_deployments(bench: PluginBench) -> None:
    """Let the user not read Deployments, while the WebApp changes twice."""
    bench.kubectl.forbidden |= {("list", "deployments"), ("get", "deployments")}
    looks = iter([[condition("Ready", "False", "RollingOut", "1 of 2")], READY])
    bench.slept = lambda: bench.status(conditions=next(looks))


def test_what_could_not_be_read_is_told_once(bench: PluginBench) -> None:
    without_deployments(bench)
    assert bench.run("status", "web", "--watch") == 0
    assert len(bench.out.splitlines()) == 3
    assert bench.err.count("note: ") == 1
    assert f"note: {NOTE}" in bench.err


def test_programs_find_it_in_each_line(bench: PluginBench) -> None:
    without_deployments(bench)
    assert bench.run("status", "web", "--watch", "-o", "json") == 0
    assert [json.loads(line)["notes"] for line in bench.out.splitlines()] == [[NOTE]] * 3
    assert bench.err == ""


def test_a_terminal_shows_it_below_the_state(bench: PluginBench) -> None:
    without_deployments(bench)
    assert bench.run("status", "web", "--watch", width=200) == 0
    assert bench.out.endswith(f"note: {NOTE}\n")
    assert bench.err == ""


# The drawing


def rows(text: str, width: int) -> int:
    """Return the rows that a terminal needs for some lines of ASCII."""
    return sum(max(1, -(-cells(line) // width)) for line in text.splitlines())


def test_the_cursor_goes_back_over_lines_that_the_terminal_breaks(bench: PluginBench) -> None:
    image = f"registry.example.com/team/shop@sha256:{'a' * 64}"
    bench.model.patch(WEBAPP.path("shop", "web"), {"spec": {"image": image}})
    bench.status(observedGeneration=2)
    outage(bench, REFUSED, rounds=1)
    assert bench.run("status", "web", "--watch", width=60) == 0
    drawn = re.split(r"\x1b\[(\d+)A\r\x1b\[J", bench.out)
    texts, moves = drawn[::2], [int(move) for move in drawn[1::2]]
    assert image in texts[0]
    assert moves == [rows(text, 60) for text in texts[:-1]]
    assert texts[1].startswith("note: no answer at present, trying again: the cluster cannot")
    assert "web is Progressing" in texts[1], "the last known state stays"
    assert bench.err == ""


def drawn(*texts: str, width: int = 10, height: int | None = None, glyphs: bool = False) -> str:
    stream = io.StringIO()
    canvas = Canvas(Screen(stream, width=width, height=height, glyphs=glyphs))
    for text in texts:
        canvas.draw(text)
    return stream.getvalue()


def test_a_drawing_is_cut_to_the_height_of_the_terminal() -> None:
    assert drawn("a\nb\nc\n", height=4) == "a\nb\nc\n"
    assert drawn("a\nb\nc\nd\n", "x\n", height=4) == "a\nb\n...\n\x1b[3A\r\x1b[Jx\n"
    assert drawn(f"a\n{'b' * 25}\nc\n", "x\n", height=4, glyphs=True) == "a\n…\n\x1b[2A\r\x1b[Jx\n"


def test_colour_takes_no_room_and_wide_characters_take_two_columns() -> None:
    assert "\x1b[1A" in drawn(f"\x1b[31m{'a' * 10}\x1b[0m\n", "x\n")
    assert "\x1b[2A" in drawn("日本日本日本\n", "x\n", width=11)
    assert "\x1b[3A" in drawn("日本日本日本\n", "x\n", width=5)


@pytest.mark.parametrize(("before", "after", "rows"), [(100, 30, 4), (30, 100, 1)])
def test_a_resized_terminal_has_broken_the_last_drawing_anew(before: int, after: int, rows: int) -> None:
    stream, sizes = io.StringIO(), iter([(after, 24)])
    screen = Screen(stream, width=before, height=24, size=lambda: next(sizes))
    canvas = Canvas(screen)
    canvas.draw("a" * 100)
    screen.measure()
    canvas.draw("b")
    assert stream.getvalue().endswith(f"\x1b[{rows}A\r\x1b[Jb\n")


def test_each_drawing_has_the_present_width(bench: PluginBench) -> None:
    widths = [100]
    bench.size = lambda: (widths[-1], 100)

    def slept() -> None:
        bench.status(conditions=READY)
        widths.append(40)

    bench.slept = slept
    assert bench.run("status", "web", "--watch", width=100) == 0
    first, move, second = re.split(r"\x1b\[(\d+)A\r\x1b\[J", bench.out)
    assert max(map(cells, first.splitlines())) > 40
    assert max(map(cells, second.splitlines())) <= 40
    assert int(move) == rows(first, 40)


class Terminal(io.TextIOWrapper):
    """A terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("term", "redraws"), [("xterm", True), ("dumb", False)])
def test_a_dumb_terminal_gets_lines_without_control_sequences(
    bench: PluginBench, monkeypatch: pytest.MonkeyPatch, term: str, redraws: bool
) -> None:
    """Examples are a shell in Emacs and a CI runner with a pseudoterminal."""
    written = io.BytesIO()
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(sys, "stdout", Terminal(written, encoding="utf-8"))
    looks = iter([ROLLING])

    def before(words: Sequence[str]) -> None:
        if words[-1].endswith("/webapps/web"):
            bench.status(conditions=next(looks, READY))

    bench.kubectl.before = before
    assert __main__.main(["status", "web", "--watch", "--interval", "1ms"], bench.kubectl) == 0
    assert ("\x1b" in written.getvalue().decode()) == redraws


def test_the_height_is_that_of_the_terminal() -> None:
    assert screen_of(Terminal(io.BytesIO()), {"LINES": "30", "COLUMNS": "90"}).height == 30
    assert screen_of(Terminal(io.BytesIO()), {}).height == 24
    assert screen_of(io.TextIOWrapper(io.BytesIO()), {}).height is None
