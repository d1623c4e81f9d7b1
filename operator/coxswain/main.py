"""The operator process: connects to the API server, handles signals, and runs the servers and the manager."""

import asyncio
import ctypes
import gc
import logging
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from typing import Any, TypeVar

from coxswain import event_loop
from coxswain.gauges import Readings
from coxswain.kernel.api.access_review import AccessReviewer
from coxswain.kernel.api.client import Client
from coxswain.kernel.api.connection import Connection, connection
from coxswain.kernel.api.kubeconfig import NoConnection
from coxswain.kernel.api.throttle import Throttle
from coxswain.kernel.api.transport import HttpTransport, Transport
from coxswain.kernel.election.election import LeaseElection, Unelected
from coxswain.kernel.election.elector import LeadershipLost
from coxswain.kernel.election.slot_election import SlotElection
from coxswain.kernel.manager import Manager
from coxswain.kernel.objects.kinds import UnknownKind
from coxswain.kernel.watching.kopf_thread import KopfThread
from coxswain.kernel.workload import P, Workload
from coxswain.serving.certificates import CertificateFiles, InvalidCertificate, self_signed_context
from coxswain.serving.metrics_server import PATH, Guard, metrics_server
from coxswain.serving.probes import probes
from coxswain.settings import NO_METRICS, Settings

log = logging.getLogger(__name__)

_T = TypeVar("_T")

_GARBAGE_THRESHOLDS = (5_000, 20, 20)
"""Thresholds of Python's garbage collector instead of 700, 10 and 10. The operator creates few reference cycles, and
collections took 7 % of the CPU time in a wave of changes."""

_M_MMAP_THRESHOLD = -3
_MAPPED_BYTES = 256 * 1024
"""glibc returns blocks from this size to the kernel as soon as they are freed. By default its threshold grows to 32 MiB
with the first freed block, and the freed memory of large objects stays with the process, in pieces (mallopt(3))."""


async def run(workload: Workload[P], settings: Settings) -> None:
    """Run an operator of a workload until SIGTERM or SIGINT.

    Raises:
        NoConnection: The API server cannot be reached with the given settings.
        UnknownKind: The workload has no kind of `settings.watch_metadata`.
        LeadershipLost: Another process leads now, or may do so.
        InvalidCertificate: The certificate of the metrics is not valid.
        OSError: The address of the probes or of the metrics cannot be bound.
    """
    stop = asyncio.Event()
    _set_on_signals(stop)

    async def connect() -> Connection:
        return await connection(settings.kubeconfig, settings.context, token_interval=settings.token_interval)

    async def connect_elector() -> HttpTransport:
        return HttpTransport(await connect())

    access = await _unless(stop, connect())
    if access is None:
        return
    namespace = settings.leader_elect_namespace or access.namespace
    election = _election(settings, connect_elector, namespace, workload.projector.manager)
    client = Client(
        HttpTransport(access),
        Throttle(in_flight=settings.requests_in_flight),
        timeout=settings.request_timeout,
        page_size=settings.watch.page_size,
        leads=election.leads,
    )
    watches = KopfThread(connect, settings.scopes, settings.watch)
    try:
        manager = Manager(workload, settings, client, watches.run, election=election)
        serving = (
            probes(
                settings.listen,
                dead=lambda: manager.dead + election.dead(),
                missing=lambda: manager.missing + election.obstacles(),
                ready=lambda: manager.ready and not election.obstacles(),
                role=election.role,
            ),
            _metrics(settings, client, lambda: manager.readings, workload.projector.manager),
        )
        async with AsyncExitStack() as stack:
            for server in serving:
                await _unless(stop, stack.enter_async_context(server))
            if not stop.is_set():
                # After the last write of the manager, the election releases the Lease.
                await stack.enter_async_context(election)
                where = ", ".join(settings.namespaces) or "the cluster"
                log.info("serving %s at %s", where, access.host)
                await manager.run(stop)
    finally:
        await client.close()
    log.info("ended")


def start(workload: Workload[P], settings: Settings, program: str) -> int:
    """Run an operator until it ends. Return the exit status.

    It is 1 if the operator cannot start or has lost the leadership, with one line on standard error.
    """
    # Imported modules are most of the objects and live until the end. Freezing excludes them from collections.
    _return_large_blocks()
    gc.freeze()
    gc.set_threshold(*_GARBAGE_THRESHOLDS)
    try:
        event_loop.run(run(workload, settings))
    except (NoConnection, UnknownKind, LeadershipLost, InvalidCertificate, OSError) as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 1
    finally:
        # Python removes its handlers before it exits, and a signal would then kill the process.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
    return 0


def _metrics(
    settings: Settings, client: Client, readings: Callable[[], Readings], name: str
) -> AbstractAsyncContextManager[None]:
    """Return the server of the metrics. `name` is the prefix of the ClusterRole that allows to get them."""
    if settings.metrics_listen == NO_METRICS:
        return nullcontext()
    if not settings.secures_metrics:
        return metrics_server(settings.metrics_listen, readings)
    directory = settings.metrics_cert_dir
    tls = CertificateFiles(directory) if directory else self_signed_context()
    reviewer = AccessReviewer(client, PATH, asyncio.get_running_loop().time)
    return metrics_server(
        settings.metrics_listen, readings, tls=tls, guard=Guard(reviewer, role=f"{name}-metrics-reader")
    )


def _election(
    settings: Settings, connect: Callable[[], Awaitable[Transport]], namespace: str, name: str
) -> Unelected | LeaseElection | SlotElection:
    if not settings.leader_elect:
        return Unelected()
    if settings.slots == 1:
        return LeaseElection(connect, namespace, name, settings.election)
    return SlotElection(connect, namespace, name, settings.election, count=settings.slots)


async def _unless(stop: asyncio.Event, starting: Coroutine[Any, Any, _T]) -> _T | None:
    """Return the result of a step of the start. Cancel it and return None if `stop` is set first.

    A credentials plugin or the lookup of a host name may hang.
    """
    started, stopped = asyncio.create_task(starting), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait([started, stopped], return_when=asyncio.FIRST_COMPLETED)
        return started.result() if started.done() else None
    finally:
        await event_loop.cancel([started, stopped])


def _set_on_signals(stop: asyncio.Event) -> None:
    """Set an event on SIGTERM or SIGINT."""
    main = asyncio.get_running_loop()

    def end(number: int) -> None:
        if not stop.is_set():
            log.info("%s: draining in-flight reconciles", signal.Signals(number).name)
            stop.set()

    def handle(number: int, _: object) -> None:
        if not main.is_closed():
            main.call_soon_threadsafe(end, number)

    # Handlers of the event loop are removed when it closes. A second signal would then kill the ending process.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handle)


def _return_large_blocks() -> None:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _MAPPED_BYTES)
