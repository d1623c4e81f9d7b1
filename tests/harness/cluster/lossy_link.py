"""A network namespace on a link that can lose packets. No end receives a reset.

A process in the namespace reaches one TCP port of this host through the link. Needs root and `ip` of iproute2.
"""

import contextlib
import ipaddress
import itertools
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Self

NOBODY = "02:00:00:00:00:01"
"""The hardware address of no device. A device drops packets for another address."""
PROGRAMS = "/usr/sbin:/sbin"
"""Debian keeps `ip` there, out of the PATH of ordinary users."""

_numbers = itertools.count(1)


class LinkUnavailableError(RuntimeError):
    """The machine cannot have such a link; the message says why."""


class LossyLink:
    """A namespace, a pair of virtual Ethernet devices, and a forwarder at this end, for the time of a `with`."""

    def __init__(self, port: int) -> None:
        """Forward to a port of the loopback interface.

        Raises:
            LinkUnavailableError: without root, or without `ip`.
        """
        ip = shutil.which("ip", path=os.pathsep.join((os.environ.get("PATH", os.defpath), PROGRAMS)))
        if ip is None or os.geteuid() != 0:
            reason = "there is no `ip`: install iproute2" if ip is None else "this is not root"
            raise LinkUnavailableError(f"no network namespace: {reason}")
        self._ip = ip
        number = next(_numbers)
        self.namespace = f"coxswain-{os.getpid()}-{number}"
        self._here, self._there = f"cxh{os.getpid()}x{number}", f"cxn{os.getpid()}x{number}"
        # 198.18.0.0/15 is for tests of networks (RFC 2544). Each link has eight addresses.
        network = int(ipaddress.ip_address("198.18.0.0")) + (os.getpid() * 4 + number) % 2**13 * 8
        self.address, self._first, self._second = (str(ipaddress.ip_address(network + host)) for host in (1, 2, 3))
        self._forwarder = _Forwarder(self.address, port)

    def __enter__(self) -> Self:
        try:
            self._open()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    @property
    def port(self) -> int:
        """The port of the forwarder."""
        return self._forwarder.port

    def command(self, command: Sequence[str]) -> list[str]:
        """Return the command line that runs a command in the namespace."""
        return [self._ip, "netns", "exec", self.namespace, *command]

    def lose_packets(self) -> None:
        """Lose every packet, in both directions, by a wrong hardware address at both ends. No end is told."""
        for where, address, device in self._ends():
            self._run(*where, "neigh", "replace", address, "dev", device, "lladdr", NOBODY, "nud", "permanent")

    def pass_packets(self) -> None:
        """Pass packets again. TCP repeats the lost ones."""
        for where, address, device in self._ends():
            self._run(*where, "neigh", "del", address, "dev", device)

    def _ends(self) -> tuple[tuple[tuple[str, ...], str, str], ...]:
        """Return the two ends: options of `ip`, the address of the other end, and the device."""
        return (((), self._first, self._here), (("-n", self.namespace), self.address, self._there))

    def strand_connections(self) -> None:
        """Lose every packet of the open connections for good. New connections work, from another address."""
        inside = ("-n", self.namespace, "address")
        self._run(*inside, "del", f"{self._first}/29", "dev", self._there)
        self._run(*inside, "add", f"{self._second}/29", "dev", self._there)

    def _open(self) -> None:
        self._run("netns", "add", self.namespace)
        self._run("link", "add", self._here, "type", "veth", "peer", "name", self._there, "netns", self.namespace)
        self._run("address", "add", f"{self.address}/29", "dev", self._here)
        self._run("link", "set", self._here, "up")
        inside = ("-n", self.namespace)
        self._run(*inside, "address", "add", f"{self._first}/29", "dev", self._there)
        for device in ("lo", self._there):
            self._run(*inside, "link", "set", device, "up")
        self._forwarder.start()

    def _close(self) -> None:
        self._forwarder.stop()
        for arguments in (("link", "del", self._here), ("netns", "del", self.namespace)):
            # After a failed start, some of this does not exist.
            with contextlib.suppress(LinkUnavailableError):
                self._run(*arguments)

    def _run(self, *arguments: str) -> None:
        done = subprocess.run([self._ip, *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            raise LinkUnavailableError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


class _Forwarder:
    """Forwards TCP connections, in threads. It never closes one end because the other is silent."""

    def __init__(self, address: str, target: int) -> None:
        self._address, self._target = address, target
        self._sockets: list[socket.socket] = []
        self.port = 0

    def start(self) -> None:
        """Listen on a free port."""
        server = socket.create_server((self._address, 0))
        self._sockets.append(server)
        self.port = server.getsockname()[1]
        threading.Thread(target=self._accept, args=(server,), name="forwarder", daemon=True).start()

    def stop(self) -> None:
        """Close everything; that ends the threads."""
        for each in self._sockets:
            with contextlib.suppress(OSError):  # it has ended already
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self, server: socket.socket) -> None:
        while True:
            try:
                near, _ = server.accept()
                far = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                return  # stopped, or the API server is: then no test goes on
            self._sockets += (near, far)
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=_pump, args=(source, sink), name="forwarder", daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    """Pass bytes on until one end is closed, and then tell the other."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
