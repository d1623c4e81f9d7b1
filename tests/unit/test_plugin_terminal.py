"""The program in a pseudo-terminal: width, colour, interruption. kubectl is a script in PATH."""

import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fcntl import ioctl
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SECONDS = 20.0
WEBAPP = {
    "apiVersion": "coxswain.dev/v1",
    "kind": "WebApp",
    "metadata": {
        "name": "shop",
        "namespace": "demo",
        "uid": "1",
        "resourceVersion": "1",
        "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z",
    },
    "spec": {"image": "registry.example/日本/shop:1"},
    "status": {
        "observedGeneration": 1,
        "conditions": [
            {"type": "Ready", "status": "False", "reason": "RollingOut", "message": "rolling out: 0 of 1 pods ready"}
        ],
        "children": [],
    },
}
IN_SESSION = (
    "import os, signal, sys, termios, fcntl; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
    "signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
)
"""Runs Python with the standard input as its controlling terminal, so that Ctrl-C reaches it.

A shell starts background jobs with SIGINT ignored, and a process started by these tests would inherit that.
"""
KUBECTL = """\
#!/bin/sh
echo "$@" >> {folder}/calls
case "$*" in
    *"config view"*) printf 'test\\ndemo' ;;
    *deployments/*) echo 'Error from server (NotFound): deployments.apps "shop" not found' >&2; exit 1 ;;
    *webapps/*) cat {folder}/webapp.json ;;
    *webapps*) printf '{{"items": [%s]}}' "$(cat {folder}/webapp.json)" ;;
    *) echo '{{"items": []}}' ;;
esac
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a kubectl that answers from a file."""
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(KUBECTL.format(folder=tmp_path))
    kubectl.chmod(0o755)
    store(tmp_path, WEBAPP)
    return tmp_path


def store(folder: Path, webapp: Any) -> None:
    """Replace the answer at once."""
    new = folder / "new"
    new.write_text(json.dumps(webapp))
    new.rename(folder / "webapp.json")


def environment(folder: Path, **more: str) -> dict[str, str]:
    path = f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin"
    return {"PATH": path, "PYTHONPATH": str(ROOT / "operator"), "TERM": "xterm", "LANG": "C.UTF-8", **more}


class Terminal:
    """The program in a terminal of some columns."""

    def __init__(self, folder: Path, *words: str, columns: int = 80, more: Mapping[str, str] | None = None) -> None:
        self.master, slave = pty.openpty()
        ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-c", IN_SESSION, "-m", "kubectl_coxswain", *words],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment(folder, **(more or {})),
        )
        os.close(slave)
        self.text = ""

    def read_until(self, wanted: str) -> None:
        """Read until a text has come; an empty one waits for the end."""
        deadline = time.monotonic() + SECONDS
        while (not wanted or wanted not in self.text) and time.monotonic() < deadline:
            if not select.select([self.master], [], [], 0.1)[0]:
                continue
            try:
                self.text += os.read(self.master, 4096).decode(errors="replace").replace("\r\n", "\n")
            except OSError:  # the other end is closed
                return
        assert wanted, f"the program does not end: {self.text}"
        assert wanted in self.text, self.text

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def end(self) -> int:
        """Return the exit code."""
        self.read_until("")
        return self.process.wait(SECONDS)


@contextmanager
def terminal(folder: Path, *words: str, columns: int = 80, more: Mapping[str, str] | None = None) -> Iterator[Terminal]:
    found = Terminal(folder, *words, columns=columns, more=more)
    try:
        yield found
    finally:
        if found.process.poll() is None:
            found.process.send_signal(signal.SIGKILL)
            found.process.wait(SECONDS)
        os.close(found.master)


def without_colour(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)


def columns_of(line: str) -> int:
    from kubectl_coxswain.screen import cells  # noqa: PLC0415

    return cells(line)


@pytest.mark.parametrize("columns", [40, 80, 132])
def test_no_line_is_wider_than_the_terminal(folder: Path, columns: int) -> None:
    with terminal(folder, "status", "shop", columns=columns) as found:
        assert found.end() == 0
        lines = without_colour(found.text).splitlines()
        assert max(map(columns_of, lines)) <= columns
        assert any("registry.example/日本/shop:1" in line for line in lines)
        assert "◌ shop is Progressing" in found.text


@pytest.mark.thorough
def test_colour_only_in_a_terminal_that_has_it(folder: Path) -> None:
    for words, more, coloured in (
        (("status",), {}, True),
        (("status",), {"NO_COLOR": "1"}, False),
        (("status", "--no-color"), {}, False),
        (("status",), {"TERM": "dumb"}, False),
    ):
        with terminal(folder, *words, more=more) as found:
            assert found.end() == 0
            assert ("\x1b[33m" in found.text) is coloured, (words, more)


def test_a_pipe_gets_plain_ascii(folder: Path) -> None:
    shop = {**WEBAPP, "spec": {"image": "a:1"}}
    store(folder, shop)
    done = subprocess.run(
        [sys.executable, "-m", "kubectl_coxswain", "status", "shop"],
        env=environment(folder),
        capture_output=True,
        check=True,
    )
    assert done.stdout.isascii()
    assert b"\x1b" not in done.stdout


def test_output_in_an_ascii_locale_does_not_fail(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kubectl_coxswain", "status"],
        env=environment(folder, LANG="C", LC_ALL="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0"),
        capture_output=True,
        check=True,
    )
    assert b"\\u65e5" in done.stdout


def test_ctrl_c_ends_watch_with_130_and_no_traceback(folder: Path) -> None:
    with terminal(folder, "status", "shop", "--watch") as found:
        found.read_until("WebApp/shop")
        found.type("\x03")
        assert found.end() == 130
        assert "kubectl coxswain: interrupted" in found.text
        assert "Traceback" not in found.text


def test_watch_draws_over_the_former_state_and_ends(folder: Path) -> None:
    ready = {"type": "Ready", "status": "True", "reason": "Ready", "message": "all children are healthy"}
    status = {**WEBAPP["status"], "conditions": [ready]}  # type: ignore[dict-item]
    with terminal(folder, "status", "shop", "--watch", "--interval", "0.1") as found:
        found.read_until("Progressing")
        metadata = {**WEBAPP["metadata"], "resourceVersion": "2"}  # type: ignore[dict-item]
        store(folder, {**WEBAPP, "metadata": metadata, "status": status})
        assert found.end() == 0
        assert re.search(r"\x1b\[\d+A\r\x1b\[J", found.text), "the cursor goes back"
        assert found.text.rindex("shop is Healthy") > found.text.rindex("\x1b[J")


def test_a_reader_that_stops_is_no_error(folder: Path) -> None:
    command = f"{sys.executable} -m kubectl_coxswain status -o json | head -n 1"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], env=environment(folder), capture_output=True, check=False
    )
    assert (done.stdout, done.stderr) == (b"{\n", b"")


def test_without_kubectl_the_program_says_so(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kubectl_coxswain", "status"],
        env={**environment(tmp_path), "PATH": str(tmp_path)},
        capture_output=True,
        check=False,
        text=True,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: kubectl is not in PATH\nnext: install kubectl")


def test_errors_are_red_only_where_colour_is(folder: Path) -> None:
    (folder / "kubectl").write_text("#!/bin/sh\necho 'error: context \"x\" does not exist' >&2\nexit 1\n")
    with terminal(folder, "status") as found:
        assert found.end() == 1
        assert 'context "x" does not exist' in without_colour(found.text)


DENIED = (
    'Error from server (Forbidden): webapps.coxswain.dev "shop" is forbidden: User "bob" cannot get resource "webapps" '
    'in API group "coxswain.dev" in the namespace "demo"'
)
FAILURES = {
    "no cluster": (
        "The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?",
        "error: the cluster cannot be reached: ",
        "next: check: kubectl cluster-info, or give --context",
    ),
    "missing right": (
        DENIED,
        "error: you are not allowed to get webapps.coxswain.dev in namespace demo",
        "kubectl auth can-i get webapps.coxswain.dev -n demo",
    ),
}


@pytest.mark.parametrize("columns", [40, 100])
@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_told_with_the_next_step(folder: Path, name: str, columns: int) -> None:
    stderr, problem, following = FAILURES[name]
    (folder / "stderr").write_text(stderr)
    (folder / "kubectl").write_text(
        f"#!/bin/sh\ncase $* in *config*) printf 'test\\ndemo'; exit ;; esac\ncat {folder}/stderr >&2; exit 1\n"
    )
    with terminal(folder, "status", "shop", columns=columns) as found:
        assert found.end() == 1
    lines = without_colour(found.text).splitlines()
    assert max(map(columns_of, lines)) <= columns
    text = " ".join(" ".join(lines).split())
    assert problem in text
    assert following in text


@pytest.mark.parametrize("command", ["status", "tree", "why", "history", "conflicts"])
def test_an_older_operator_without_revisions(folder: Path, command: str) -> None:
    """Its status has neither revisions nor URLs."""
    with terminal(folder, command, "shop") as found:
        code = found.end()
    assert "Traceback" not in found.text
    assert code == (1 if command == "history" else 0), found.text
    assert without_colour(found.text).strip()
