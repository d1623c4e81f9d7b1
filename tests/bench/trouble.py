"""B9 and B10: coxswain during a storm of writers, and during an outage of the API server."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from signal import Signals

from bench.lives import line, missing
from bench.results import COXSWAIN, Measured, percentile
from bench.rig import Rig, counted, writes
from cluster import AuditEvent
from cluster.ports import free_ports
from cluster.progress import Progress
from fault_engine.plan import Answer, Match, Plan, Rule
from fault_engine.proxy import FaultProxy

STORMED = 100
WRITERS = (0, 1, 4, 16, 64)
STORM_SECONDS = 20.0
EDITS = 5
OUTAGE_SIZE = 300
HERD_SECONDS = 10.0
RETURN_SECONDS = 180.0
OUTAGES = ("stopped", "503", "429")


def storms(number: int, progress: Progress) -> list[Measured]:
    """B9: many writers of one WebApp, with 99 quiet ones; and of a copy of it, to measure the cost for the servers."""
    found = []
    with Rig(COXSWAIN, STORMED) as rig:
        rig.add_twin()
        rig.operator.start()
        rig.load("create", STORMED)
        for writers in WRITERS:
            for aside in (False, True) if writers else (False,):
                one = _storm(rig, number, writers, aside)
                found.append(one)
                progress(line(one))
    return found


def _storm(rig: Rig, number: int, writers: int, aside: bool) -> Measured:
    mark, meter = rig.mark(), rig.meter()
    answer = rig.load("storm", STORMED, concurrency=writers, seconds=STORM_SECONDS, aside=aside)
    events, within = rig.quiet(mark)
    figures = {
        "p50": percentile(answer["latencies"], 0.5),
        "p99": percentile(answer["latencies"], 0.99),
        "p99 until written": percentile(answer["written"], 0.99),
        "writes per second": answer["writes per second"],
        "convergence": answer["convergence"],
        "conflicts": sum(event.code == 409 for event in events),
        "operator CPU": meter.figures()["operator CPU"],
    }
    case = f"{writers} writers" + (" aside" if aside else "")
    wrong = missing(answer) + rig.differences()[:3] + ([f"{counted(within)}"] if writes(within) else [])
    return Measured("B9", COXSWAIN, STORMED, number, case, figures, counted(events), tuple(wrong))


def outage(case: str, number: int, seconds: float, progress: Progress) -> list[Measured]:
    """B10: an outage of the API server of one type of OUTAGES, with five edits meanwhile."""
    with (
        Rig(COXSWAIN, OUTAGE_SIZE) as rig,
        FaultProxy(rig.cluster.url, rig.cluster.ca_file, rig.cluster.directory) as proxy,
    ):
        if case != "stopped":
            file = rig.cluster.directory / "proxied.yaml"
            proxy.write_kubeconfig(rig.kubeconfig, file)
            rig.behind(file)
        rig.operator.start()
        rig.load("create", OUTAGE_SIZE)
        rig.quiet(rig.mark())
        pid = rig.pid
        if case == "stopped":
            begin, end, editable = _stopping(rig)
        else:
            begin, end, editable = _refusing(rig, proxy, int(case))
        begin()
        load = rig.start_load("edit", EDITS, kubeconfig=editable, pause=seconds / EDITS, timeout=seconds + 120)
        time.sleep(seconds)  # the length of the outage
        mark = rig.mark()
        back = end()
        answer = rig.loaded(load)
        _wait_for_pods(rig)
        events, within = rig.quiet(mark)
        ready = "seconds until Ready" if case != "stopped" else "with the controllers' own return"
        figures = {
            "seconds until written": max(answer["written"], default=0.0) - back,
            ready: max(answer["done"], default=0.0) - back,
            "exits": float(rig.operator.pid != pid),
            **herd(events),
        }
        wrong = missing(answer) + rig.differences()[:3] + ([f"{counted(within)}"] if writes(within) else [])
        one = Measured("B10", COXSWAIN, OUTAGE_SIZE, number, case, figures, counted(events), tuple(wrong))
        progress(line(one))
        return [one]


def _wait_for_pods(rig: Rig) -> None:
    """Wait until all objects are as desired, or the time is up: disconnected controllers and nodes must return too."""
    deadline = time.monotonic() + RETURN_SECONDS
    while rig.differences() and time.monotonic() < deadline:
        time.sleep(3)


def _stopping(rig: Rig) -> tuple[Callable[[], None], Callable[[], float], Path]:
    """Kill the API server, while another one on the same etcd accepts the edits."""
    (port,) = free_ports(1)
    rig.cluster.add_api_server("the other API server", port)
    editable = rig.cluster.directory / "other.yaml"
    text = rig.cluster.kubeconfig.read_text(encoding="utf-8")
    editable.touch(mode=0o600)
    editable.write_text(text.replace(rig.cluster.url, f"https://127.0.0.1:{port}"), encoding="utf-8")

    def end() -> float:
        rig.cluster.start_program("kube-apiserver")
        return time.monotonic()

    return lambda: rig.cluster.stop_program("kube-apiserver", Signals.SIGKILL), end, editable


def _refusing(rig: Rig, proxy: FaultProxy, status: int) -> tuple[Callable[[], None], Callable[[], float], Path]:
    """Let a proxy in front of the API server refuse all requests."""
    answer = Answer(status, retry_after=1 if status == 429 else None)

    def begin() -> None:
        proxy.set(Plan((Rule(Match(count=None), answer),)))

    def end() -> float:
        proxy.lift()
        return time.monotonic()

    return begin, end, rig.cluster.kubeconfig


def herd(events: Sequence[AuditEvent]) -> dict[str, float]:
    """Return the number of requests in the first seconds after an outage, and their maximum per second."""
    if not events:
        return {}
    times = sorted(datetime.fromisoformat(event.time).timestamp() for event in events)
    early = [at for at in times if at - times[0] < HERD_SECONDS]
    return {
        "requests in 10 s": len(early),
        "most requests in 1 s": max(Counter(int(at - times[0]) for at in early).values()),
    }
