"""Free TCP ports of the loopback interface that stay free while their server restarts."""

import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path
from typing import IO

LOWEST = 15000
ATTEMPTS = 1000
_LOCKS = Path(tempfile.gettempdir()) / f"coxswain-ports-{os.getuid()}"
_held: list[IO[bytes]] = []
"""The lock files of the ports of this process. The kernel releases the locks when the process ends."""


def free_ports(count: int) -> list[int]:
    """Return different ports without a listener, reserved until this process ends.

    They are below the kernel's ephemeral port range. So no outgoing connection can take the port of a stopped server,
    and no client of that server can connect to itself. A lock file keeps other processes from the same choice before
    the server listens.
    """
    highest = _lowest_ephemeral() - 1
    ports: list[int] = []
    for _attempt in range(ATTEMPTS):
        candidate = random.randint(LOWEST, highest)
        if _reserve(candidate):
            ports.append(candidate)
        if len(ports) == count:
            return ports
    raise OSError(f"no {count} free ports between {LOWEST} and {highest}")


def _reserve(port: int) -> bool:
    _LOCKS.mkdir(mode=0o700, exist_ok=True)
    lock = (_LOCKS / str(port)).open("ab")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", port))
    except OSError:
        lock.close()
        return False
    _held.append(lock)
    return True


def _lowest_ephemeral() -> int:
    try:
        lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="utf-8").split()[0])
    except OSError:
        lowest = 32768
    return lowest if lowest > LOWEST + 1000 else 65536
