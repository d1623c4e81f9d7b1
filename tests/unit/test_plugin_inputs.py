"""Odd inputs: names, namespaces, numbers, manifests and terminals."""

import io
import json
from collections.abc import Sequence
from typing import Any

import pytest

from kubectl_coxswain import __main__
from kubectl_coxswain.arguments import parse
from kubectl_coxswain.kubectl import Completed
from kubectl_coxswain.screen import screen_of
from unit.model_bench import SPEC
from unit.plugin_bench import PluginBench
from unit.plugin_states import healthy

HEAD: dict[str, Any] = {"apiVersion": "coxswain.dev/v1", "kind": "WebApp"}


@pytest.fixture
def bench() -> PluginBench:
    found = PluginBench()
    healthy(found)
    return found


def usage_error(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Return the message of a wrong usage."""
    with pytest.raises(SystemExit) as ended:
        parse(words)
    assert ended.value.code == 2
    return capsys.readouterr().err.partition("error: ")[2]


# Names


@pytest.mark.parametrize("prefix", ["webapp/", "webapps/", "WebApp/", "webapps.coxswain.dev/", "webapp.coxswain.dev/"])
def test_a_name_may_have_the_kind_before_it(bench: PluginBench, prefix: str) -> None:
    assert bench.run("status", f"{prefix}web") == 0
    assert bench.out.startswith("web is Healthy")


@pytest.mark.parametrize("command", ["status", "tree", "undo", "pause"])
@pytest.mark.parametrize("name", ["", "a b", "web?x", "web/status", "pod/web", "../x", "Web"])
def test_an_invalid_name_is_a_wrong_usage(command: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "argument NAME: " in usage_error([command, name], capsys)


@pytest.mark.parametrize("words", [["status", "-n"], ["-n"]])
@pytest.mark.parametrize("name", ["a/b", "namespace/shop", "shop?watch=true", "..", "a b", "Shop"])
def test_an_invalid_namespace_is_a_wrong_usage(words: list[str], name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In the path of a request it would be another resource, and the answer that the API is not installed."""
    message = usage_error([*words, name, *(["status"] if len(words) == 1 else [])], capsys)
    assert message.startswith(f"argument -n/--namespace: {name!r} is not the name of a namespace; to list them: ")


def test_an_empty_namespace_is_that_of_the_context(bench: PluginBench) -> None:
    assert bench.run("status", "web", "-n", "") == 0


# Numbers


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("1.5", 1.5), ("5m", 300), ("90s", 90), ("1h30m", 5400), ("500ms", 0.5)]
)
def test_a_timeout_is_seconds_or_a_duration_as_of_kubectl(text: str, seconds: float) -> None:
    assert parse(["status", "web", "-w", "--timeout", text]).timeout == seconds


@pytest.mark.parametrize("text", ["nan", "inf", "-5", "0", "0s", "x", "", "5 m", "m"])
def test_a_wrong_timeout_is_explained(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    message = usage_error(["status", "web", "-w", f"--timeout={text}"], capsys)
    assert "argument --timeout: must be seconds or a duration such as 90, 90s or 5m, greater than 0" in message


@pytest.mark.parametrize(
    "words", [["undo", "web", "--to=v1"], ["history", "web", "--revision=0"], ["undo", "a", "--to="]]
)
def test_a_wrong_revision_is_explained(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    message = usage_error(words, capsys)
    assert "must be the number of a revision, such as 3: see kubectl coxswain history" in message


# Manifests


@pytest.mark.parametrize(
    ("manifest", "problem"),
    [
        ({"metadata": {"generateName": "web-"}, "spec": SPEC}, "a WebApp has no metadata.name"),
        ({"metadata": {}, "spec": SPEC}, "a WebApp has no metadata.name"),
        ({"spec": SPEC}, "a WebApp has no metadata.name"),
        ({"metadata": {"name": "web"}}, "WebApp web has no spec"),
        ({"metadata": {"name": "web"}, "spec": None}, "WebApp web has no spec"),
    ],
)
def test_a_manifest_without_name_or_spec_is_a_problem(bench: PluginBench, manifest: Any, problem: str) -> None:
    bench.run("plan", "-f", "-", stdin=json.dumps({**HEAD, **manifest}))
    assert bench.err.startswith(f"error: -: {problem}")
    assert "next: " in bench.err


@pytest.mark.parametrize("value", ["web?watch=true", "web/status", "../x", "Web", 5])
@pytest.mark.parametrize("field", ["name", "namespace"])
def test_a_manifest_with_an_invalid_name_is_not_asked_for(bench: PluginBench, field: str, value: Any) -> None:
    """The request would follow a watch for ever, or get another resource."""
    metadata = {"name": "web", "namespace": "shop", field: value}
    bench.run("plan", "-f", "-", stdin=json.dumps({**HEAD, "metadata": metadata, "spec": SPEC}))
    assert bench.err.startswith(f"error: -: metadata.{field} of a WebApp is {value!r}\nnext: correct it: ")
    assert [call[0] for call in bench.kubectl.calls] == ["create"]


@pytest.mark.parametrize("spec", [{"replicas": 2}, {"image": 5}, {"image": "a:1", "files": "x"}])
def test_an_invalid_spec_that_the_api_server_may_not_check_is_a_problem(bench: PluginBench, spec: Any) -> None:
    bench.kubectl.forbidden.add(("patch", "webapps"))
    bench.run("plan", "-f", "-", stdin=json.dumps({**HEAD, "metadata": {"name": "new"}, "spec": spec}))
    assert bench.err.startswith("error: WebApp new cannot be rendered: its spec is not valid")


def test_an_unexpected_error_of_plan_is_no_difference(capsys: pytest.CaptureFixture[str]) -> None:
    def broken(arguments: Sequence[str], stdin: str | None = None, seconds: float | None = None) -> Completed:  # noqa: ARG001
        raise KeyError("x")

    assert __main__.main(["plan", "-f", "x.yaml"], broken) == 2
    assert "KeyError: 'x'" in capsys.readouterr().err
    with pytest.raises(KeyError):
        __main__.main(["status", "web", "-n", "a"], broken)


# Terminals


class Terminal(io.TextIOWrapper):
    """A terminal with an encoding."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_a_terminal_of_another_encoding_gets_replacements(encoding: str) -> None:
    raw = io.BytesIO()
    screen = screen_of(Terminal(raw, encoding=encoding), {"TERM": "xterm"})
    screen.line("日本")
    screen.flush()
    assert raw.getvalue() == b"??\n"


# Files


def documents(*found: dict[str, Any]) -> str:
    return "\n---\n".join(json.dumps(each) for each in found)


@pytest.mark.parametrize("forbidden", [False, True])
def test_plan_of_a_webapp_in_a_namespace_of_the_same_file(bench: PluginBench, *, forbidden: bool) -> None:
    """Without its namespace an object cannot be created, not even by dry-run."""
    if forbidden:
        bench.kubectl.forbidden.add(("patch", "webapps"))
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "fresh"}}
    webapps = [{**HEAD, "metadata": {"name": "shop", "namespace": name}, "spec": SPEC} for name in ("fresh", "shop")]
    assert bench.run("plan", "-f", "-", stdin=documents(namespace, *webapps)) == 1
    assert "WebApp shop in namespace fresh is new." in bench.out
    assert "WebApp shop in namespace shop is new." in bench.out
    assert "note: the WebApp is merged without the API server, which could reject it or change it: " in bench.err
    assert "namespace fresh does not exist yet" in bench.err


def test_plan_of_an_invalid_webapp_in_a_new_namespace(bench: PluginBench) -> None:
    webapp = {**HEAD, "metadata": {"name": "shop", "namespace": "fresh"}, "spec": {**SPEC, "ports": 5}}
    assert bench.run("plan", "-f", "-", stdin=documents(webapp)) == 1
    assert "error: WebApp shop cannot be rendered: its spec is not valid" in bench.err
    assert "the right to patch" not in bench.err


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_other_objects_are_counted_in_output_for_programs_too(bench: PluginBench, output: str) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}}
    webapp = {**HEAD, "metadata": {"name": "web", "namespace": "shop"}, "spec": SPEC}
    bench.run("plan", "-f", "-", "-o", output, stdin=documents(secret, webapp))
    assert bench.err == "note: 1 other objects of the files are not planned: only WebApps are\n"
