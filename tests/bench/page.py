"""docs/benchmarks.md, the part that is written from what was measured. Pure."""

from bench.aims import verdicts
from bench.results import Machine, Measured, Results
from bench.tables import number, requests, rows_of, table, waves

ABOUT = """The rig: etcd with fsync, one API server with priority and fairness, the controller manager at 500 requests a
second, KWOK for the pods, the audit log as the only counter of requests; all on the {cores} cores of one machine,
servers, load and peer together. Each run of a peer has a cluster of its own; the peers take turns, and another one
begins each round. Figures are of up to {rounds} rounds: median (minimum to maximum), or the one number of a single
round; compare the ratios, not the seconds.
A run whose end was not what was asked for (O1), or in whose quiet window the peer wrote (O3), is void and counts for
nothing: {void} of {all} runs."""


def page(results: Results) -> str:
    """Return the Markdown of everything that was measured."""
    void = [each for each in results.measured if each.void]
    rounds = max((each.round for each in results.measured), default=0)
    about = ABOUT.format(cores=results.machine.cores, rounds=rounds, void=len(void), all=len(results.measured))
    parts = [
        f"{_machine(results.machine)}{_commits(results)}\n\n{about}",
        f"## What was aimed at\n\n{verdicts(results)}",
        (
            "## B1: until all is true\n\nN WebApps are created, 16 at a time, by another process, which watches from"
            " outside: T is from its first request until each is Ready at its generation and its Deployment, with"
            " that image, is available. p50 and p99 are of single WebApps, in seconds.\n\n"
            f"{waves(results, 'B1')}\n\n![How things grow](benchmarks.svg)"
        ),
        (
            "## B2: requests for each WebApp\n\nFrom the audit log, by the peer's user.\n\n### Create\n\n"
            f"{requests(results, 'B1')}\n\n### A changed image\n\n{requests(results, 'B5')}\n\n### Delete\n\n"
            f"{requests(results, 'B2 delete')}"
        ),
        f"## B5: another image for all\n\n{waves(results, 'B5')}",
        "## B0: bare writes\n\nFour children and a status for each, with nothing else, so many requests at a time.\n\n"
        + rows_of(results, "B0", ("writes per second", "p50", "p99", "API server CPU", "etcd CPU")),
        "## B3: nothing changes\n\n" + rows_of(results, "B3", _B3, label="WebApps"),
        "## B4: a foreign edit or delete each second\n\nSeconds until it is as it should be.\n\n"
        + rows_of(results, "B4", ("edits", "p50", "p99", "slowest", "unhealed"), label="WebApps"),
        "## B6: killed and started again\n\n" + rows_of(results, "B6", _B6, label="WebApps"),
        "## B7: memory\n\nResident, of the operator; the peak is that of creating all at once.\n\n"
        + rows_of(results, "B7", ("MB without WebApps", "MB", "peak MB"), label="WebApps"),
        (
            "## B9: a storm on one WebApp\n\nSo many write to one WebApp without a pause, for 20 s, while one of 99"
            " quiet ones gets another image every 0.25 s. Aside, the same writers write to an object of another group,"
            " with the WebApp's schema and rules, that no operator looks at: that is what they cost the servers.\n\n"
            + rows_of(results, "B9", _B9)
        ),
        (
            "## B10: the API server away\n\nKilled, or a proxy that refuses everything, with five edits meanwhile; the"
            " seconds are from its return. The requests are those after it. Where it was killed, the controller manager"
            " and the nodes were cut off too, and have to come back before anything is Ready.\n\n"
            + rows_of(results, "B10", _B10)
        ),
        f"## Where the time goes\n\n{_profile(results)}",
    ]
    if void:
        parts.append("## Void\n\n" + "\n".join(f"- {_void(each)}" for each in void))
    return "\n\n".join(parts)


_B3 = ("requests per hour", "writes per hour", "LISTs of a kind", "operator CPU per hour", "seconds measured")
_B6 = ("seconds", "at rest after", "writes", "LISTs of a kind", "pages of LISTs", "operator CPU", "MB")
_B9 = ("writes per second", "p50", "p99", "p99 until written", "conflicts", "convergence", "operator CPU")
_B10 = (
    *("seconds until written", "seconds until Ready", "with the controllers' own return"),
    *("exits", "requests in 10 s", "most requests in 1 s"),
)


def _machine(machine: Machine) -> str:
    return (
        f"Measured on {machine.date} with Kubernetes {machine.kubernetes} and Python {machine.python}, at a load of"
        f" {machine.load_before:.1f} in the minute before."
    )


def _commits(results: Results) -> str:
    """Return which commits were measured, and when."""
    found = sorted({f"{each.commit} ({each.date})" for each in results.measured if each.commit})
    return f" Commits: {', '.join(found)}." if found else ""


def _profile(results: Results) -> str:
    if not results.profile:
        return "(not measured)"
    parts = sorted({part for found in results.profile.values() for part in found})
    last = results.profile[next(iter(results.profile))]
    parts.sort(key=lambda part: -last.get(part, 0.0))
    rows = [[part, *(number(found.get(part, 0.0)) for found in results.profile.values())] for part in parts]
    used = [sum(value for part, value in found.items() if part != "waiting") for found in results.profile.values()]
    rows.append(["**all but waiting**", *(number(round(value, 2)) for value in used)])
    return "Seconds of the operator.\n\n" + table(["", *results.profile], rows)


def _void(one: Measured) -> str:
    named = " ".join(part for part in (one.benchmark, one.peer, one.case) if part)
    return f"{named}, N = {one.size}, round {one.round}: {'; '.join(one.void)}"
