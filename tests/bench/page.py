"""The generated part of docs/benchmarks.md. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.aims import verdicts
from bench.results import Machine, Measured, Results
from bench.tables import number, requests, rows_of, table, waves

ABOUT = """The test rig has etcd with fsync, one API server with priority and fairness, the controller manager with a
limit of 500 requests a second, and KWOK for the pods. Only the audit log counts requests. Servers, load and peer share
the {cores} cores of one machine. Each run of a peer has its own cluster. The peers take turns, and each round starts
with another peer. Figures come from up to {rounds} rounds: median (minimum to maximum), or a single number for a single
round. Compare the ratios, not the seconds.
A run is void if its final state was wrong (O1) or if the peer wrote in its quiet window (O3). Void runs are excluded:
{void} of {all} runs."""


def page(results: Results) -> str:
    """Return the Markdown of all measurements."""
    void = [each for each in results.measured if each.void]
    rounds = max((each.round for each in results.measured), default=0)
    about = ABOUT.format(cores=results.machine.cores, rounds=rounds, void=len(void), all=len(results.measured))
    parts = [
        f"{_machine(results.machine)}\n\n{about}",
        f"## Targets\n\n{verdicts(results)}",
        *_waves_and_requests(results),
        *(_section(results, each) for each in TABLES),
        f"## CPU profile\n\n{_profile(results)}",
    ]
    if void:
        parts.append("## Void\n\n" + "\n".join(f"- {_void(each)}" for each in void))
    return "\n\n".join(parts)


@dataclass(frozen=True)
class Table:
    """A section with one table: a row for each size or case."""

    benchmark: str
    title: str
    about: str
    names: Sequence[str]
    """The figures, one for each column."""
    label: str = "WebApps"
    """The head of the first column."""


TABLES = (
    Table(
        "B0",
        "bare writes",
        "Only the writes of four children and a status for each WebApp, by concurrency.",
        ("writes per second", "p50", "p99", "API server CPU", "etcd CPU"),
        "case",
    ),
    Table(
        "B3",
        "idle",
        "",
        ("requests per hour", "writes per hour", "LISTs of a kind", "operator CPU per hour", "seconds measured"),
    ),
    Table(
        "B4",
        "a foreign edit or delete each second",
        "Seconds until the drift is corrected.",
        ("edits", "p50", "p99", "slowest", "unhealed"),
    ),
    Table(
        "B6",
        "killed and started again",
        "",
        ("seconds", "at rest after", "writes", "LISTs of a kind", "pages of LISTs", "operator CPU", "MB"),
    ),
    Table(
        "B7",
        "memory",
        "Resident memory of the operator. The peak occurs while all WebApps are created at once.",
        ("MB without WebApps", "MB", "peak MB"),
    ),
    Table(
        "B8",
        "failover",
        "Two replicas and 200 WebApps; each second another WebApp gets another image. After 5 s the leader ends, is"
        " killed, or is stopped for 60 s. Seconds until the standby holds the Lease, and until the next edit is written"
        " to its Deployment, count from the signal. The slowest edit counts from its own request. Writes of the old"
        " leader are those after the takeover.",
        ("takeover", "next edit", "slowest edit", "edits", "lost", "writes of the old leader"),
        "case",
    ),
    Table(
        "B9",
        "a storm on one WebApp",
        "A number of writers write to one WebApp without a pause for 20 s. Every 0.25 s one of 99 quiet WebApps gets"
        " another image. In the cases named aside, the same writers write to an object of another API group with the"
        " schema and rules of the WebApp. No operator watches it, so these cases show the cost of the writers to the"
        " servers.",
        ("writes per second", "p50", "p99", "p99 until written", "conflicts", "convergence", "operator CPU"),
        "case",
    ),
    Table(
        "B10",
        "outage of the API server",
        "The API server is killed, or a proxy refuses all requests. Five edits happen during the outage. Seconds and"
        " requests count from the return of the API server. After a kill, the controller manager and the nodes must"
        " reconnect before any WebApp is Ready.",
        (
            *("seconds until written", "seconds until Ready", "with the controllers' own return"),
            *("exits", "requests in 10 s", "most requests in 1 s"),
        ),
        "case",
    ),
    Table(
        "B11",
        "several replicas",
        "Each replica leads for a part of 6 slots. All processes share the cores of one machine, so seconds show the"
        " cost of sharing, and CPU of one replica shows the gain. After the creation one replica is killed while"
        " someone edits a child each second, and is started again at the end of the edits (a single replica at once)."
        " Operators of separate namespaces watch and cache only these. They show what slots could gain at most if the"
        " API server selected the objects of each replica; none of them takes over from another.",
        (
            *("seconds", "p99", "operator CPU of all", "operator CPU of one", "API server CPU", "MB of one"),
            *("slowest edit around the loss", "unhealed", "seconds until synced again", "seconds until balanced again"),
        ),
    ),
)


def _section(results: Results, one: Table) -> str:
    about = " ".join(part for part in (one.about, _commits(results, one.benchmark)) if part)
    rows = rows_of(results, one.benchmark, one.names, label=one.label)
    return "\n\n".join(part for part in (f"## {one.benchmark}: {one.title}", about, rows) if part)


def _waves_and_requests(results: Results) -> list[str]:
    """Return the sections B1, B2 and B5: all peers side by side."""
    return [
        (
            "## B1: time to convergence\n\nAnother process creates N WebApps, 16 at a time, and watches them. T is the"
            " time from its first request until each WebApp is Ready at its generation and its Deployment is available"
            f" with that image. p50 and p99 are for single WebApps, in seconds. {_commits(results, 'B1')}\n\n"
            f"{waves(results, 'B1')}\n\n![How things grow](benchmarks.svg)"
        ),
        (
            "## B2: requests for each WebApp\n\nCounted in the audit log by the user of the peer, in the runs of B1, B5"
            f" and a delete. {_commits(results, 'B1', 'B5', 'B2 delete')}\n\n### Create\n\n{requests(results, 'B1')}"
            f"\n\n### A changed image\n\n{requests(results, 'B5')}\n\n### Delete\n\n{requests(results, 'B2 delete')}"
        ),
        f"## B5: a new image for all WebApps\n\n{_commits(results, 'B5')}\n\n{waves(results, 'B5')}",
    ]


def _machine(machine: Machine) -> str:
    return (
        f"The last run was on {machine.date} with Kubernetes {machine.kubernetes} and Python {machine.python}, at a"
        f" load of {machine.load_before:.1f} in the minute before. Each section names its commits and dates."
    )


def _commits(results: Results, *benchmarks: str) -> str:
    """Return the sentence with the commits and dates of some benchmarks; empty if none is known."""
    found = sorted(
        {(each.date, each.commit) for each in results.measured if each.benchmark in benchmarks and each.commit}
    )
    return f"Commit and date: {', '.join(f'{commit} ({date})' for date, commit in found)}." if found else ""


def _profile(results: Results) -> str:
    if not results.profile:
        return "(not measured)"
    parts = sorted({part for found in results.profile.values() for part in found})
    last = results.profile[next(iter(results.profile))]
    parts.sort(key=lambda part: -last.get(part, 0.0))
    rows = [[part, *(number(found.get(part, 0.0)) for found in results.profile.values())] for part in parts]
    used = [sum(value for part, value in found.items() if part != "waiting") for found in results.profile.values()]
    rows.append(["**all but waiting**", *(number(round(value, 2)) for value in used)])
    return "Seconds of the operator in each part.\n\n" + table(["", *results.profile], rows)


def _void(one: Measured) -> str:
    named = " ".join(part for part in (one.benchmark, one.peer, one.case) if part)
    return f"{named}, N = {one.size}, round {one.round}: {'; '.join(one.void)}"
