"""A process of the operator in which the lookup of one host name hangs: `python -m unit.slow_names ARGUMENTS`."""

import socket
import sys
import time
from typing import Any

from coxswain.__main__ import main

HANGING = "api.corp"


def _patch() -> None:
    real = socket.getaddrinfo

    def slow(host: Any, *arguments: Any, **more: Any) -> Any:
        if str(host) == HANGING:
            print("a lookup hangs", file=sys.stderr, flush=True)
            time.sleep(60)
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return real(host, *arguments, **more)

    socket.getaddrinfo = slow


if __name__ == "__main__":
    _patch()
    main()
