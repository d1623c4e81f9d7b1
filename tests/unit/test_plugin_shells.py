"""The completion scripts in real shells. zsh is no part of the environment, so its cases need one that is installed."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from unit.test_plugin_terminal import environment

pytestmark = pytest.mark.thorough

BASH = """\
source <(kubectl-coxswain completion bash)
COMP_WORDS=(kubectl-coxswain "$@") COMP_CWORD=$#
compopt() { echo files; }
_kubectl_coxswain
printf '%s\\n' "${COMPREPLY[@]}"
"""
ZSH = """\
compdef() { }
compadd() { shift; print -l -- "$@" }
_files() { print files }
source <(kubectl-coxswain completion zsh)
words=(kubectl-coxswain "$@") CURRENT=$(($# + 1))
_kubectl_coxswain
"""
SHELLS = {"bash": ["bash", "--norc", "-c", BASH, "bash"], "zsh": ["zsh", "-f", "-c", ZSH, "zsh"]}


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["un"], ["undo"]),
        (["completion", ""], ["bash", "zsh"]),
        (["status", "-o", ""], ["json", "wide", "yaml"]),
        (["undo", "shop", "--dr"], ["--dry-run"]),
        (["plan", "-f", ""], ["files"]),
    ],
)
@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes(tmp_path: Path, shell: str, words: list[str], found: list[str]) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    program = tmp_path / "kubectl-coxswain"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m kubectl_coxswain "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    done = subprocess.run(
        [*SHELLS[shell], *words], env=environment(tmp_path), capture_output=True, check=False, text=True
    )
    assert sorted(done.stdout.split()) == found
    assert done.stderr == ""
