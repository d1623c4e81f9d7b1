"""A network namespace in which every pod of KWOK has an address that can be reached.

    python -m cluster.network_namespace COMMAND [ARGUMENT...]

runs a command in it. All of 10.244.0.0/16 is local there, so a server on 0.0.0.0 has the address of each pod. The
namespace has no name: it ends with its last process. There is no other network in it.
"""

import argparse
import errno
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from typing import NoReturn

from cluster.configuration import POD_ADDRESSES

ADDRESS = POD_ADDRESSES.replace(".0/", ".1/")
_PREPARE = 'ip link set lo up && ip address add "$0" dev lo && exec "$@"'
_PATH = "/usr/sbin:/sbin"
"""Distributions keep `ip` there, out of the PATH of ordinary users."""


def command_in_namespace(command: Sequence[str]) -> list[str]:
    """Return the command line that runs a command in a new namespace; without root, in a user namespace as well."""
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    return ["unshare", "--net", *user, "sh", "-c", _PREPARE, ADDRESS, *command]


def pods_are_reachable() -> bool:
    """Tell whether this process is in such a namespace."""
    with socket.socket() as probe:
        try:
            probe.bind((ADDRESS.partition("/")[0], 0))
        except OSError as error:
            if error.errno != errno.EADDRNOTAVAIL:
                raise
            return False
    return True


def refusal() -> str:
    """Return why this machine gives no such namespace, or "" if it does."""
    try:
        tried = subprocess.run(
            command_in_namespace(["true"]),
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        return "unshare is missing: install util-linux"
    return tried.stderr.strip() if tried.returncode else ""


def main(arguments: Sequence[str]) -> NoReturn:
    """Become the command, in a new namespace. Raises SystemExit without a command, or if a program is missing."""
    parser = argparse.ArgumentParser(prog="python -m cluster.network_namespace", description=__doc__.partition("\n")[0])
    parser.add_argument("program", metavar="COMMAND", help="the command to run in the namespace")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT", help="its arguments")
    given = parser.parse_args(arguments)
    os.environ.update(_environment())
    missing = [program for program in ("unshare", "ip") if shutil.which(program) is None]
    if missing:
        sys.exit(f"error: {' and '.join(missing)} missing: install util-linux and iproute2")
    os.execvp("unshare", command_in_namespace([given.program, *given.arguments]))  # noqa: S606 - it becomes the command


def _environment() -> dict[str, str]:
    return {**os.environ, "PATH": os.pathsep.join((os.environ.get("PATH", os.defpath), _PATH))}


if __name__ == "__main__":
    main(sys.argv[1:])
