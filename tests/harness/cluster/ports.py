"""Free TCP ports of the loopback interface that stay free while their server restarts."""

import random
import socket
from contextlib import ExitStack
from pathlib import Path

LOWEST = 15000
ATTEMPTS = 1000


def free_ports(count: int) -> list[int]:
    """Return different ports without a listener.

    They are below the kernel's ephemeral port range. So no outgoing connection can take the port of a stopped server,
    and no client of that server can connect to itself.
    """
    highest = _lowest_ephemeral() - 1
    ports: list[int] = []
    with ExitStack() as held:
        for _attempt in range(ATTEMPTS):
            candidate = random.randint(LOWEST, highest)
            listener = held.enter_context(socket.socket())
            try:
                listener.bind(("127.0.0.1", candidate))
            except OSError:
                continue
            ports.append(candidate)
            if len(ports) == count:
                return ports
    raise OSError(f"no {count} free ports between {LOWEST} and {highest}")


def _lowest_ephemeral() -> int:
    try:
        lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="utf-8").split()[0])
    except OSError:
        lowest = 32768
    return lowest if lowest > LOWEST + 1000 else 65536
