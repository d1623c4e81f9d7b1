"""The simulation ends, also if one of its processes is killed or the user interrupts it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from simulation import many as simulation
from simulation.many import ProcessEnded, many

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(20)
def test_a_killed_process_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run never ended: a new process took the place of the killed one, and its seeds stayed open."""

    def killed(_: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(simulation, "play", killed)
    with pytest.raises(ProcessEnded, match="in one of the seeds 7 to 26"):
        many("webapp", 7, 20, None, 2, stop=1)


@pytest.mark.thorough
def test_an_interrupt_ends_the_run_without_a_traceback(tmp_path: Path) -> None:
    path = os.pathsep.join(str(ROOT / folder) for folder in ("operator", "tests/harness", "tests"))
    command = [sys.executable, "-m", "simulation", "--seconds", "60", "--processes", "2"]
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"}
    # The new session stands for the terminal, whose Ctrl-C reaches all of its processes.
    running = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
    while running.poll() is None and sum(map(_ignores_interrupts, children.read_text().split())) < 2:
        time.sleep(0.05)
    os.killpg(running.pid, signal.SIGINT)
    _, errors = running.communicate(timeout=20)
    assert (running.returncode, errors) == (130, "simulation: interrupted\n")


def _ignores_interrupts(process: str) -> bool:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    ignored = next(int(line.split()[1], 16) for line in lines if line.startswith("SigIgn:"))
    return bool(ignored & 1 << (signal.SIGINT - 1))
