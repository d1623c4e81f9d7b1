"""The resource use of processes: CPU seconds and memory, from /proc."""

import os
from collections.abc import Mapping
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """Return the user and system time of all threads of a process."""
    # The name, in parentheses, may contain spaces; utime and stime are fields 12 and 13 after it (proc_pid_stat(5)).
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def memory(pid: int, *, peak: bool = False) -> float:
    """Return the resident memory of a process in MB (10^6 bytes), or its peak."""
    name = "VmHWM:" if peak else "VmRSS:"
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024 / 1e6
    raise ProcessLookupError(f"process {pid} has exited")


class Meter:
    """The resource use of some processes from now on."""

    def __init__(self, pids: Mapping[str, int]) -> None:
        """Measure these processes, by name."""
        self._pids = pids
        self._before = {name: cpu_seconds(pid) for name, pid in pids.items()}

    def figures(self) -> dict[str, float]:
        """Return the CPU seconds of each since creation, and its peak memory in MB."""
        used = {f"{name} CPU": cpu_seconds(pid) - self._before[name] for name, pid in self._pids.items()}
        return used | {f"{name} peak MB": memory(pid, peak=True) for name, pid in self._pids.items()}
