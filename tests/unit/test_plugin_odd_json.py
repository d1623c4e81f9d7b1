"""Objects that Python's JSON parser refuses: anyone who may create a labelled one could end the plugin."""

from collections.abc import Sequence

import pytest

from kubectl_coxswain.__main__ import main
from kubectl_coxswain.kubectl import Completed, Run
from unit.plugin_bench import PluginBench
from unit.plugin_states import reconciled

HEAD = '{"metadata": {"name": "odd", "uid": "u", "resourceVersion": "1", "labels": {"coxswain.dev/webapp": "web"}}'
NESTED = '{"a": ' * 2000 + "{}" + "}" * 2000
DIGITS = f'{{"n": {"1" * 5000}}}'
NOTE = "note: ControllerRevision/odd is skipped, as the operator does: it has more than 100 levels of nesting\n"


def with_revision(data: str) -> Run:
    """Return the answers about a WebApp with one ControllerRevision of others."""
    bench = PluginBench()
    reconciled(bench)

    def run(arguments: Sequence[str], stdin: str | None = None, seconds: float | None = None) -> Completed:
        if "/controllerrevisions?" in arguments[-1]:
            return Completed(0, f'{{"items": [{HEAD}, "revision": 1, "data": {data}}}]}}', "")
        return bench.kubectl(arguments, stdin, seconds)

    return run


def code(words: list[str], run: Run) -> int | str:
    """Return the exit code of a command, or the name of the exception that ends it."""
    try:
        return main(words, run)
    except RecursionError as error:
        return type(error).__name__


@pytest.mark.parametrize(
    ("command", "data", "note"),
    [("tree", NESTED, ""), ("tree", DIGITS, ""), ("drift", NESTED, NOTE), ("drift", DIGITS, "")],
)
def test_the_plugin_skips_it_alone(command: str, data: str, note: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert code([command, "web"], with_revision(data)) == 0
    shown = capsys.readouterr()
    assert shown.out
    assert shown.err == note
