"""A child that is being deleted: the message names the finalizers that delay its end, and the next command."""

import dataclasses

import pytest

from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.status.health import terminating
from coxswain.webapp.kinds import DEPLOYMENT, SERVICE
from kubectl_coxswain.evidence import next_commands
from kubectl_coxswain.verdict import verdict
from unit.bench import WEB, Bench
from unit.objects import COMMANDS, observed_child

DESCRIBE = "kubectl describe service web -n shop"
COLLECTED = (
    "kubectl get all -n shop -o "
    "custom-columns=KIND:.kind,NAME:.metadata.name,DELETED:.metadata.deletionTimestamp,FINALIZERS:.metadata.finalizers"
)
ORPHAN = "the garbage collector removes the owner references of its dependents (finalizer orphan)"


@pytest.fixture
def bench() -> Bench:
    """Return a bench with a converged WebApp."""
    bench = Bench()
    bench.converge()
    return bench


def delete(bench: Bench, kind: Kind, *finalizers: str) -> None:
    """Let a child have a deletionTimestamp."""
    live = bench.store.get(kind, WEB)
    assert live is not None
    bench.writer.version += 100
    bench.store.observe(
        dataclasses.replace(live, version=bench.writer.version, terminating=True, finalizers=finalizers)
    )


def held_by(*finalizers: str) -> Projection:
    """Return a Service that is being deleted."""
    return dataclasses.replace(observed_child(SERVICE), terminating=True, finalizers=finalizers)


@pytest.mark.parametrize(
    ("finalizers", "cause", "command"),
    [
        (["example.com/a"], "others must remove these finalizers: example.com/a", DESCRIBE),
        (
            ["foregroundDeletion"],
            "the garbage collector deletes its dependents and waits for their end (finalizer foregroundDeletion)",
            COLLECTED,
        ),
        (["orphan"], ORPHAN, COLLECTED),
        (
            ["orphan", "example.com/a", "example.com/b"],
            f"{ORPHAN}, and others must remove these finalizers: example.com/a, example.com/b",
            DESCRIBE,
        ),
        (
            [f"example.com/{name}" for name in "abcde"],
            "others must remove these finalizers: example.com/a, example.com/b, example.com/c and 2 more",
            DESCRIBE,
        ),
    ],
)
def test_the_message_names_who_holds_the_object(finalizers: list[str], cause: str, command: str) -> None:
    found = terminating(held_by(*finalizers), COMMANDS)
    assert f"The operator recreates it afterwards. Before its end, {cause}. If it stays, " in found.message
    assert found.message.endswith(f": {command}")


@pytest.mark.parametrize(("finalizer", "command"), [("example.com/a", DESCRIBE), ("foregroundDeletion", COLLECTED)])
def test_why_shows_the_command(bench: Bench, finalizer: str, command: str) -> None:
    delete(bench, SERVICE, finalizer)
    bench.run()
    content = bench.webapp_now().content
    webapp = {**content, "metadata": {**content["metadata"], "name": "web", "namespace": "shop"}}
    assert bench.message_of("Ready").startswith("Service web: is being deleted. ")
    assert next_commands(webapp, verdict(webapp), []) == [command]


def test_a_paused_webapp_says_that_a_child_is_being_deleted(bench: Bench) -> None:
    delete(bench, SERVICE, "example.com/a")
    bench.webapp(version=900, generation=2, paused=True)
    bench.run()
    assert bench.writer.sent == ["status"]
    assert bench.conditions()["Ready"] == ("False", "Terminating")
    assert "The operator recreates it when spec.paused is no longer true. Before its end" in bench.message_of("Ready")


def test_the_finalizers_of_a_child_are_named_while_another_kind_cannot_be_listed(bench: Bench) -> None:
    delete(bench, SERVICE, "example.com/a")
    bench.coverage.not_listed = {"ConfigMap": "no answer"}
    bench.run()
    (found,) = [each for each in bench.webapp_now().content["status"]["children"] if each["kind"] == "Service"]
    assert found["health"] == "Terminating"
    assert "these finalizers: example.com/a" in found["message"]


def test_an_object_that_the_operator_replaces_has_its_finalizers_named(bench: Bench) -> None:
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    selector = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}
    content = {**live.content, "spec": {**live.content["spec"], "selector": selector}}
    bench.writer.version += 100
    bench.store.observe(dataclasses.replace(live, version=bench.writer.version, uid="new", content=content))
    bench.run()
    assert bench.conditions()["Ready"] == ("False", "Replaced")
    delete(bench, DEPLOYMENT, "example.com/a")
    bench.run()
    bench.now += 60
    bench.run()
    assert bench.conditions()["Ready"] == ("False", "Replaced")
    assert "others must remove these finalizers: example.com/a. If it stays, " in bench.message_of("Ready")
