"""A memory limit for a process, enforced by a control group of the kernel, as for the container of a pod.

The rules: https://docs.kernel.org/admin-guide/cgroup-v2.html (memory.max, memory.swap.max, memory.events) and
https://docs.kernel.org/admin-guide/cgroup-v1/memory.html (memory.limit_in_bytes, memory.oom_control).
"""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

GROUPS = Path("/sys/fs/cgroup")


class Interface(NamedTuple):
    """The files of one version of control groups."""

    parent: Path
    limit: str
    swap: str
    kills: str


# The unified hierarchy of version 2 has the controllers of its root; in version 1 each controller is a hierarchy.
VERSIONS = (
    Interface(GROUPS, "memory.max", "memory.swap.max", "memory.events"),
    Interface(GROUPS / "memory", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.oom_control"),
)


class MemoryLimit:
    """A control group with a limit of `size` bytes, without swap. The kernel kills a process that needs more."""

    def __init__(self, interface: Interface, size: int) -> None:
        """Create the group.

        Raises:
            OSError: this user or this machine cannot limit memory so.
        """
        self._interface = interface
        self.group = Path(tempfile.mkdtemp(prefix="coxswain-test-", dir=interface.parent))
        try:
            if not (self.group / interface.limit).exists():
                raise FileNotFoundError(f"{self.group / interface.limit}: no control group for memory")
            (self.group / interface.limit).write_text(str(size), encoding="ascii")
            with contextlib.suppress(FileNotFoundError):  # a kernel without accounting of swap
                in_all = 0 if interface.swap.endswith("swap.max") else size
                (self.group / interface.swap).write_text(str(in_all), encoding="ascii")
        except OSError:
            self.close()
            raise

    @property
    def prefix(self) -> tuple[str, ...]:
        """The start of a command line: a shell that enters the group and then becomes the program of the rest."""
        return ("/bin/sh", "-c", 'echo $$ >"$0" && exec "$@"', str(self.group / "cgroup.procs"))

    def contains(self, pid: int | None) -> bool:
        """Tell whether the process is in the group."""
        return str(pid) in (self.group / "cgroup.procs").read_text(encoding="ascii").split()

    def kills(self) -> int:
        """Return how many processes the kernel has killed in this group."""
        counts = (self.group / self._interface.kills).read_text(encoding="ascii")
        return int(dict(line.split() for line in counts.splitlines())["oom_kill"])

    def close(self) -> None:
        """Remove the group, which has no process any more."""
        self.group.rmdir()


@contextlib.contextmanager
def memory_limit(size: int) -> Iterator[MemoryLimit | None]:
    """Give a limit of `size` bytes, or None with a printed reason where this user cannot have one."""
    limit, refusals = None, []
    for interface in VERSIONS:
        try:
            limit = MemoryLimit(interface, size)
            break
        except OSError as error:
            refusals.append(str(error))
    if limit is None:
        print("no control group limits the memory here, so it is only measured:", *refusals, sep="\n  ")
    try:
        yield limit
    finally:
        if limit is not None:
            limit.close()
