"""F25, F26, F28 to F31: another operator, hostile objects, unlisted namespaces, webhooks, clocks, connections."""

import socket
from contextlib import ExitStack

import pytest

from fault_engine.lives import CHANGE, CREATE
from fault_engine.objects import condition
from fault_engine.plan import Answer, Match, Rule
from fault_engine.play import Played
from fault_engine.run import Case
from fault_engine.script import Cut, Disaster, Lift, Operator, Script, Wait, inject, kubectl
from fault_engine.stand import Stand
from fault_engine.webhook import MESSAGE
from faults.outages import CHILD_DELETED, SOON, begun
from faults.test_process import followed, wait
from integration.test_hostile_objects import limit

OTHER = ("{namespace}-other",)
JUDGED = ("O1", "O3", "O4", "O5", "O6", "O7")


def said(played: Played, kind: str) -> set[str]:
    """Return all messages of a condition of the parent `web` while it was abnormal."""
    assert played.evidence is not None
    wrong, parents = "False" if kind == "Ready" else "True", played.evidence.parents
    versions = [
        change.object for change in played.evidence.changes if (change.resource, change.name) == (parents, "web")
    ]
    found = [condition(version, kind) for version in versions]
    return {each["message"] for each in found if each.get("status") == wrong}


@pytest.mark.fault(
    "F26",
    "hundreds of objects of 1 MB with the operator's label, thousands of small ones, and odd ones of each kind, "
    "in a served namespace, within the memory limit of the manifests",
    oracles=("O1", "O3", "O4"),
    broken="caches-whole-objects",
    by="test",
)
def test_hostile_objects(case: Case) -> None:
    # Without the proxy, which would store all of these objects in its history.
    restarted = (Operator("stop"), Operator("start"), Disaster("wait for the lists of all namespaces"))
    hostile = (Disaster("create hostile objects"), *restarted)
    played = case(begun(hostile, CHANGE, CHILD_DELETED, SOON), namespaces=OTHER, proxied=False)
    print(f"{played.peak / 2**20:.0f} MiB of {limit() / 2**20:.0f} MiB")
    assert 0 < played.peak < limit()


ROUNDS = 5
"""The number of corrections of a field until it is no longer enforced."""


@pytest.mark.fault(
    "F25",
    "two operators of different versions: both stop enforcing the contested field and report it",
    oracles=("O1", "O3", "O4", "O7"),
    broken="forgets-write-wars",
    by=("O7", "test"),
)
def test_two_versions(case: Case) -> None:
    script = begun(
        Disaster("start another version"), Wait(table=300), Disaster("stop the other version"), CHILD_DELETED, SOON
    )
    played = case(script, reference=case.reference(begun(CHILD_DELETED, SOON)))
    assert played.evidence is not None
    applied = [
        request
        for request in played.evidence.history.writes()
        if (request.resource, request.name, request.status) == ("deployments", "web", 200)
    ]
    print(f"the Deployment was applied {len(applied)} times by both", *sorted(said(played, "Contested")), sep="\n")
    assert len(applied) > ROUNDS, "no write war"
    assert len(applied) <= 2 * 3 * ROUNDS, f"the write war continues: {len(applied)} applies"
    told = [message for message in said(played, "Contested") if "progressDeadlineSeconds" in message]
    assert any("a second operator with the field manager" in message for message in told)


FORBIDDEN = inject(Rule(Match("list|watch", namespace="{namespace}-other", count=None), Answer(403)))


@pytest.mark.generic
@pytest.mark.fault(
    "F28",
    "one of two namespaces forbidden or deleted, at the start and later",
    oracles=JUDGED,
    broken="waits-for-all-namespaces",
)
@pytest.mark.parametrize(
    "beginning",
    [
        pytest.param(
            (Operator("kill"), FORBIDDEN, Operator("start")), id="forbidden at the start", marks=pytest.mark.ci
        ),
        pytest.param((Disaster("create the other namespaces"), FORBIDDEN, Cut()), id="forbidden later"),
        pytest.param((Disaster("create the other namespaces"), Disaster("delete the other namespaces")), id="gone"),
    ],
)
def test_one_namespace_of_two(case: Case, beginning: Script) -> None:
    case(begun(beginning, CHANGE, CHILD_DELETED, SOON, Lift(), *CREATE, SOON), namespaces=OTHER)


@pytest.mark.generic
@pytest.mark.fault(
    "F29",
    "a webhook is down, slower than the operator's timeout, or refuses with a sentence as the reason",
    oracles=("O1", "O3", "O4", "O5", "O6", "O7"),
    broken="hides-refusals",
    by="O5",
)
@pytest.mark.parametrize(
    ("way", "text"),
    [
        pytest.param("refusing with a sentence", MESSAGE, id="a sentence", marks=pytest.mark.ci),
        pytest.param("down", "webhook", id="down"),
        pytest.param("slow", "", id="slow"),
    ],
)
def test_a_webhook(case: Case, way: str, text: str) -> None:
    deleted = kubectl("delete", "{child}", "web")
    played = case(begun(Disaster(f"webhook: {way}"), deleted, Wait(table=300), Disaster("remove the webhook"), SOON))
    print(way, *sorted(said(played, "Ready")), sep="\n")
    assert any(text in message and case.workload.child.kind in message for message in said(played, "Ready"))


CLOCK = ("--clock", "{folder}/clock")


@pytest.mark.generic
@pytest.mark.fault(
    "F30",
    "the clocks of the operator and of the nodes step back and ahead by an hour",
    oracles=("O1", "O3", "O4", "O5", "O6", "O7"),
    broken="waits-by-the-time-of-day",
)
@pytest.mark.ci
def test_clocks(case: Case) -> None:
    failing = inject(Rule(Match("patch", "{main}", count=None), Answer(500)))
    back, ahead = Disaster("step the clock an hour back"), Disaster("step the clock an hour ahead")
    script = begun(
        # A retry is due when the clock steps, and no event makes it unnecessary.
        (failing, *CHANGE, CHILD_DELETED, Wait(table=20), back, Lift(), SOON),
        (Disaster("step the nodes' clocks an hour ahead"), *CREATE, SOON),
        (ahead, Disaster("step the nodes' clocks an hour back"), *CHANGE, CHILD_DELETED, SOON),
    )
    case(script, options=CLOCK)


@pytest.mark.generic
@pytest.mark.fault(
    "F30",
    "the process suspended for five minutes, with changes in the meantime",
    oracles=JUDGED,
    broken="sees-no-drift",
)
def test_suspended(case: Case) -> None:
    case(begun(Operator("pause"), CHANGE, CHILD_DELETED, Wait(table=300), Operator("resume"), SOON))


CONNECTIONS = 1000


@pytest.mark.generic
@pytest.mark.fault(
    "F31",
    "1,000 idle connections to the port of the probes",
    oracles=("O4",),
    broken="keeps-all-connections",
    by="test",
)
@pytest.mark.ci
def test_idle_connections(case: Case) -> None:
    with case.stand(options=("--max-files", "1024")) as stand, ExitStack() as held:
        stand.operator.start()
        address = probes_address(stand)
        for _ in range(CONNECTIONS):
            held.enter_context(socket.create_connection(address, timeout=10))
        stand.proxy.cut()  # watches also need file descriptors
        stand.live(CREATE[0])
        wait(lambda: followed(stand, CREATE[0]), "the main child")
        assert stand.operator.probe("/healthz")[0] == 200
        wait(lambda: stand.operator.probe("/readyz")[0] == 200, "readiness")
        assert "Traceback" not in stand.operator.logged()


def probes_address(stand: Stand) -> tuple[str, int]:
    """Return host and port of the operator's probes."""
    host, _, port = stand.operator.address("probes").removeprefix("http://").partition(":")
    return host, int(port)
