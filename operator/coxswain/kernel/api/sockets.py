"""TCP sockets that notice a lost peer within seconds.

A connection is half-open if a load balancer, a NAT gateway or the peer has forgotten it, and no packet says so. Without
these options the kernel repeats a request for about 15 minutes, and an idle connection looks alive for two hours.
"""

import socket

from aiohttp.connector import AddrInfoType

LOST_SECONDS = 15
"""Seconds without an acknowledgement after which the kernel closes a connection."""
IDLE_SECONDS = 10
"""Seconds without data before the first keepalive probe."""
_PROBE_SECONDS = 5
"""Seconds between two probes."""


def tcp_socket(address: AddrInfoType) -> socket.socket:
    """Return a new socket for an address.

    Only Linux has these options. On other systems the timeouts of requests and watches remain.
    """
    family, kind, protocol, *_ = address
    made = socket.socket(family, kind, protocol)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, IDLE_SECONDS)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _PROBE_SECONDS)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, LOST_SECONDS * 1000)
    return made
