"""A Service with a difference in an immutable field: replaced if the spec allows it, otherwise left to a person."""

import dataclasses

import pytest

from coxswain.kernel.objects.field_paths import minus_path
from coxswain.webapp.kinds import DEPLOYMENT, SERVICE
from unit.bench import WEB, Bench
from unit.test_reconcile_replacement import OTHER, changed


@pytest.fixture
def bench() -> Bench:
    """Return a bench without any object."""
    return Bench()


def not_headless(bench: Bench) -> None:
    """Recreate the Service as someone else, with a cluster IP."""
    live = bench.store.get(SERVICE, WEB)
    assert live is not None
    other = changed(bench, SERVICE, spec={**live.content["spec"], "clusterIP": "10.0.0.1"})
    owned = minus_path(other.owned or {}, ("f:spec", "f:clusterIP"))
    bench.store.observe(dataclasses.replace(other, version=other.version + 1, owned=owned))
    bench.writer.version += 1


def test_a_service_is_replaced_only_with_leave(bench: Bench) -> None:
    bench.webapp(service={"headless": True})
    bench.run()
    not_headless(bench)
    bench.run()
    assert "remove Service" not in bench.writer.sent
    assert bench.conditions()["Stalled"] == ("True", "Immutable")
    note = bench.message_of("Stalled")
    assert "To let the operator recreate it at a new address, set spec.service.replace: Allowed" in note
    assert note.endswith("kubectl delete service web -n shop")
    bench.webapp(version=900, generation=2, service={"headless": True, "replace": "Allowed"})
    bench.run()
    assert bench.writer.sent[0] == "remove Service"
    bench.store.forget(SERVICE, WEB, bench.writer.version + 1)
    bench.run()
    assert bench.writer.sent[0] == "create Service"
    bench.run()
    assert bench.writer.sent == []


def test_leave_to_replace_the_service_is_none_for_the_deployment(bench: Bench) -> None:
    bench.webapp(service={"replace": "Allowed"})
    bench.run()
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    labels = {"app": "web"}
    template = {**live.content["spec"]["template"], "metadata": {"labels": labels}}
    changed(bench, DEPLOYMENT, spec={**live.content["spec"], "selector": OTHER, "template": template})
    bench.run()
    assert "remove Deployment but not its pods" not in bench.writer.sent
    assert bench.conditions()["Stalled"] == ("True", "Immutable")


def test_a_service_is_not_replaced_again_and_again(bench: Bench) -> None:
    """A webhook may give each new Service a cluster IP."""
    bench.webapp(service={"headless": True, "replace": "Allowed"})
    bench.run()
    removed = 0
    for _ in range(8):
        bench.now += 1
        not_headless(bench)
        bench.run()
        removed += bench.writer.sent.count("remove Service")
        bench.writer.version += 1
        if "remove Service" not in bench.writer.sent:
            break
        bench.store.forget(SERVICE, WEB, bench.writer.version)
        bench.writer.version += 10
        bench.run()
    assert removed == 5
    assert bench.conditions()["Stalled"] == ("True", "Immutable")
    bench.now += 61
    bench.run()
    assert bench.writer.sent[0] == "remove Service", "one more replacement follows after the pause"


def test_the_url_comes_with_the_service() -> None:
    bench = Bench()
    bench.webapp(paused=True)
    bench.run()
    status = bench.webapp_now().content["status"]
    assert (status.get("url"), status.get("urls")) == (None, None), "nothing is created yet"
    bench.webapp(version=bench.writer.version + 1, generation=2)
    bench.run()
    assert "status" not in bench.writer.sent, "it waits for the first count of the Deployment"
    bench.roll_out()
    bench.run()
    assert bench.writer.sent == ["status"]
    assert bench.webapp_now().content["status"]["url"] == "http://web.shop.svc:8080"
