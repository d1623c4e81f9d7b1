"""An operator process in which the lookup of one host name hangs: `python -m unit.slow_dns ARGUMENTS`.

Its drain timeout is one second, because its test waits for nearly all of it.
"""

import socket
import sys
import time
from dataclasses import replace
from typing import Any

from coxswain import command_line
from coxswain.__main__ import main
from coxswain.settings import Settings

HANGING = "api.corp"


def _patch() -> None:
    real = socket.getaddrinfo

    def slow(host: Any, *arguments: Any, **more: Any) -> Any:
        if str(host) == HANGING:
            print("a lookup hangs", file=sys.stderr, flush=True)
            time.sleep(60)
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return real(host, *arguments, **more)

    parse = command_line.settings

    def impatient(*arguments: Any, **more: Any) -> Settings:
        return replace(parse(*arguments, **more), drain_timeout=1.0)

    socket.getaddrinfo = slow
    command_line.settings = impatient


if __name__ == "__main__":
    _patch()
    main()
