"""The plugin starts fast: it imports the standard library, and of the operator only what a command needs."""

import subprocess
import sys
from pathlib import Path

import pytest

from coxswain.webapp import identity, kinds, spec
from kubectl_coxswain import names

ROOT = Path(__file__).parents[2]
FOREIGN = ("kopf", "kubernetes", "aiohttp", "prometheus_client", "yaml")
SLOW = ("asyncio", "pathlib", "concurrent.futures", "ssl", "http", "email", "importlib.metadata", "difflib")
"""Modules of the standard library that take time, and that a first request does not need."""
OWN = ("EVENT", "CONTROLLER_REVISION")
"""Kinds that the operator names otherwise or not at all."""
RENDERING = ("coxswain.webapp", "coxswain.webapp.workload", "coxswain.webapp.children")

PRELUDE = """
import sys
from kubectl_coxswain.kubectl import Completed
from kubectl_coxswain.__main__ import main

def run(arguments, stdin=None, seconds=None):
    return Completed(0, "shop" if arguments[0] == "config" else '{"items": []}', "")
"""


def imported(words: list[str]) -> set[str]:
    """Return the modules after a command, in a process without site packages."""
    code = f"{PRELUDE}\ncode = main({words!r}, run)\nprint(*sys.modules, sep='\\n', file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-c", f"import sys; sys.path.insert(0, {str(ROOT / 'operator')!r})\n{code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.split())


@pytest.mark.parametrize("words", [["status"], ["why"], ["conflicts"], ["completion", "bash"], ["version", "--client"]])
def test_reading_imports_neither_foreign_nor_slow_modules(words: list[str]) -> None:
    found = imported(words)
    assert not found & {*FOREIGN, *SLOW, *RENDERING}
    assert "kubectl_coxswain.arguments" in found


def test_rendering_imports_no_foreign_module() -> None:
    found = imported(["drift"])
    assert not found & set(FOREIGN)
    assert set(RENDERING) <= found


def test_a_process_is_started_only_for_a_request() -> None:
    assert "subprocess" not in imported(["version", "--client"])


def test_the_names_are_those_of_the_operator() -> None:
    found = {name: value for name, value in vars(names).items() if name.isupper()}
    kinds_of_operator = {**vars(kinds), "GROUP": spec.GROUP, "WEBAPP_LABEL": identity.WEBAPP_LABEL}
    assert len(found) > 10
    assert {name: kinds_of_operator[name] for name in found if name not in OWN} == {
        name: value for name, value in found.items() if name not in OWN
    }
