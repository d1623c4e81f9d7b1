"""The streams of the plugin: a reader that stops, closed streams, and encodings."""

import io
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TextIO

import pytest

from coxswain.webapp.kinds import WEBAPP
from kubectl_coxswain import __main__
from kubectl_coxswain.screen import confirmed
from unit.plugin_bench import PluginBench
from unit.plugin_states import condition, failing
from unit.test_plugin_plan import manifest


def without_reader() -> TextIO:
    """Return a pipe whose reader has stopped."""
    reader, writer = os.pipe()
    os.close(reader)
    return os.fdopen(writer, "w", encoding="utf-8")


def given(content: bytes, encoding: str = "utf-8") -> TextIO:
    """Return a standard input of a terminal with an encoding."""
    return io.TextIOWrapper(io.BytesIO(content), encoding=encoding)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> PluginBench:
    monkeypatch.setattr(sys, "stdin", given(manifest(image="registry.example/web:2").encode()))
    found = PluginBench(replicas=2)
    failing(found)
    return found


WATCH = ["status", "web", "--watch", "--timeout", "1ms"]


@pytest.mark.parametrize("words", [["plan", "-f", "-"], ["drift", "web"], ["status", "web"], WATCH])
def test_a_reader_that_stops_is_no_success(
    bench: PluginBench, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    with without_reader() as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert __main__.main(words, bench.kubectl) == 141


def test_it_is_none_either_if_the_command_fails(bench: PluginBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text before the error is written when the error is reported."""
    with without_reader() as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        bench.kubectl.before = lambda _: print("a", file=stream)
        assert __main__.main(["status", "none"], bench.kubectl) == 141


@pytest.mark.parametrize(
    ("words", "expected"), [(["plan", "-f", "-"], 2), (["drift", "web"], 1), (["status", "no"], 1)]
)
def test_a_full_disk_is_an_error(
    bench: PluginBench,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    expected: int,
) -> None:
    code: object = None
    with suppress(OSError), open("/dev/full", "w", encoding="utf-8") as stream:  # noqa: PTH123 - a device
        monkeypatch.setattr(sys, "stdout", stream)
        bench.kubectl.before = lambda _: print("a", file=stream)
        code = __main__.main(words, bench.kubectl)
    assert code == expected
    assert capsys.readouterr().err == (
        "error: the standard input or output fails: No space left on device\nnext: redirect it elsewhere\n"
    )


@pytest.mark.parametrize(("words", "code"), [(["plan", "-f", "-"], 2), (["drift", "web"], 1)])
def test_a_closed_output_is_an_error(
    bench: PluginBench,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    code: int,
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert __main__.main(words, bench.kubectl) == code
    assert capsys.readouterr().err == (
        "error: the standard output is closed, so there is no place for the result\nnext: redirect it to a file\n"
    )


def test_without_a_standard_error_the_result_is_the_same(
    bench: PluginBench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.model.patch(WEBAPP.path("shop", "web"), {"spec": {"image": "registry.example/web:2"}})
    monkeypatch.setattr(sys, "stderr", None)
    assert __main__.main(["plan", "-f", "-"], bench.kubectl) == 1
    assert capsys.readouterr().out.startswith("WebApp web in namespace shop ")


def test_nobody_answers_on_a_closed_input(bench: PluginBench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(EOFError):
        confirmed("Really?")
    assert __main__.main(["drift", "web"], bench.kubectl) == 0


@pytest.mark.parametrize("encoding", ["ascii", "iso-8859-1", "utf-8"])
@pytest.mark.parametrize("words", [["status", "web"], WATCH])
def test_json_is_json_in_each_encoding(
    bench: PluginBench, monkeypatch: pytest.MonkeyPatch, encoding: str, words: list[str]
) -> None:
    message = "rolling é 😀"
    bench.status(conditions=[condition("Ready", "False", "RollingOut", message)])
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
    __main__.main([*words, "-o", "json"], bench.kubectl)
    assert message in [each["message"] for each in json.loads(written.getvalue())["conditions"]]


@pytest.mark.parametrize("terminal", ["ascii", "iso-8859-1", "utf-8"])
@pytest.mark.parametrize(
    "content", ["config: {A: 'é 😀'}\r\n".encode(), "config: {A: é}\n".encode("utf-16")], ids=["utf-8", "utf-16"]
)
def test_kubectl_gets_the_bytes_of_a_manifest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, terminal: str, content: bytes
) -> None:
    program = tmp_path / "kubectl"
    program.write_text('#!/bin/sh\nexec cat >"${0%kubectl}seen"\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(sys, "stdin", given(content, terminal))
    assert __main__.main(["plan", "-f", "-"]) == 2, "kubectl returns no WebApp"
    assert (tmp_path / "seen").read_bytes() == content
