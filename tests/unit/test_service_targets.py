"""A renamed port: the Service leads to the old and to the new pods during the rollout."""

import dataclasses
from typing import Any

import pytest

from coxswain.kernel.objects.field_paths import ManagedFieldsEntry, minus
from coxswain.webapp.kinds import DEPLOYMENT, SERVICE
from unit.bench import COMPLETE, WEB, Bench

RENAMED = [{"name": "web", "containerPort": 8080}]


@pytest.fixture
def bench() -> Bench:
    """Return a bench with a WebApp that is Ready, and has a port `http`."""
    made = Bench()
    made.converge()
    return made


def target(bench: Bench) -> Any:
    """Return where the Service leads to."""
    live = bench.store.get(SERVICE, WEB)
    assert live is not None
    (port,) = live.content["spec"]["ports"]
    return port["targetPort"]


def roll_out(bench: Bench, **counts: int) -> None:
    """Write the state of the rollout to the Deployment's status."""
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    bench.writer.version += 1
    status = {**COMPLETE, "observedGeneration": live.content["metadata"]["generation"], **counts}
    content = {**live.content, "status": {**status, "conditions": [{"type": "Available", "status": "True"}]}}
    bench.store.observe(dataclasses.replace(live, version=bench.writer.version, content=content))


def test_during_the_rollout_the_number_is_the_target(bench: Bench) -> None:
    assert target(bench) == "http"
    bench.webapp(version=900, generation=2, ports=RENAMED)
    bench.run()
    assert bench.writer.sent[:2] == ["update Service", "update Deployment"]
    assert target(bench) == 8080
    roll_out(bench, replicas=2)
    bench.run()
    assert target(bench) == 8080
    roll_out(bench)
    bench.run()
    assert bench.writer.sent[0] == "update Service"
    assert target(bench) == "web"
    assert not [each for each in bench.events.told if each.reason == "DriftCorrected"]
    bench.run()
    assert bench.writer.sent == []


def test_a_failed_rollout_keeps_the_number(bench: Bench) -> None:
    """The old pods keep serving."""
    bench.webapp(version=900, generation=2, ports=RENAMED)
    bench.run()
    roll_out(bench, replicas=2)
    bench.webapp(version=1000, generation=3)
    bench.run()
    assert target(bench) == 8080
    roll_out(bench)
    bench.run()
    assert target(bench) == "http"


def test_another_number_of_the_same_name_writes_the_service_once(bench: Bench) -> None:
    """Each pod has its own number under the name."""
    service = {"ports": [{"name": "http", "port": 80, "targetPort": "http"}]}
    bench.webapp(version=900, generation=2, service=service)
    bench.run()
    roll_out(bench)
    bench.run()
    bench.webapp(version=1000, generation=3, service=service, ports=[{"name": "http", "containerPort": 9090}])
    bench.run()
    assert "update Service" not in bench.writer.sent
    assert "update Deployment" in bench.writer.sent
    assert target(bench) == "http"


def test_swapped_names_keep_their_numbers_until_the_rollout_ends(bench: Bench) -> None:
    """The old pods have both names, each with the number of the other one."""

    def targets() -> dict[int, Any]:
        live = bench.store.get(SERVICE, WEB)
        assert live is not None
        return {port["port"]: port["targetPort"] for port in live.content["spec"]["ports"]}

    def ports(*names: str) -> list[dict[str, Any]]:
        return [{"name": name, "containerPort": 8080 + number} for number, name in enumerate(names)]

    bench.webapp(version=900, generation=2, ports=ports("http", "admin"))
    bench.run()
    roll_out(bench)
    bench.run()
    assert targets() == {8080: "http", 8081: "admin"}
    bench.webapp(version=1000, generation=3, ports=ports("admin", "http"))
    bench.run()
    assert targets() == {8080: 8080, 8081: 8081}
    roll_out(bench, replicas=2)
    bench.run()
    assert targets() == {8080: 8080, 8081: 8081}
    roll_out(bench)
    bench.run()
    assert targets() == {8080: "admin", 8081: "http"}


def test_a_port_of_a_new_sidecar_is_a_target_by_name(bench: Bench) -> None:
    """The old pods do not listen on its number, so requests to them would be refused."""
    sidecar = {"name": "proxy", "image": "registry.example/proxy:1", "ports": [{"name": "edge", "containerPort": 9000}]}
    service = {"ports": [{"name": "http", "port": 8080, "targetPort": "edge"}]}
    bench.webapp(version=900, generation=2, service=service, sidecars=[sidecar])
    bench.run()
    assert target(bench) == "edge"


def test_a_port_of_a_new_sidecar_is_a_target_by_name_also_after_a_number(bench: Bench) -> None:
    bench.webapp(version=900, generation=2, service={"ports": [{"name": "http", "port": 8080}]})
    bench.run()
    assert target(bench) == 8080
    roll_out(bench)
    sidecar = {"name": "proxy", "image": "registry.example/proxy:1", "ports": [{"name": "edge", "containerPort": 9000}]}
    service = {"ports": [{"name": "http", "port": 8080, "targetPort": "edge"}]}
    bench.webapp(version=1000, generation=3, service=service, sidecars=[sidecar])
    bench.run()
    assert target(bench) == "edge"


def test_a_number_of_another_manager_is_drift_also_during_a_rollout(bench: Bench) -> None:
    roll_out(bench, replicas=2)
    bench.run()
    live = bench.store.get(SERVICE, WEB)
    assert live is not None
    assert live.owned is not None
    port: dict[str, Any] = {"f:spec": {"f:ports": {'k:{"port":8080,"protocol":"TCP"}': {"f:targetPort": {}}}}}
    spec = live.content["spec"]
    bench.writer.version += 1
    drifted = dataclasses.replace(
        live,
        version=bench.writer.version,
        content={**live.content, "spec": {**spec, "ports": [{**spec["ports"][0], "targetPort": 8080}]}},
        owned=minus(live.owned, port),
        others=(*live.others, ManagedFieldsEntry("kubectl-edit", port, "Update")),
    )
    bench.store.observe(drifted)
    bench.run()
    assert target(bench) == "http"
    assert [told.reason for told in bench.events.told] == ["DriftCorrected"]


def test_old_pods_without_a_deployment_are_reached_by_the_number(bench: Bench) -> None:
    """The Deployment was deleted as an orphan of its pods, and the port renamed."""
    bench.writer.version += 1
    bench.store.forget(DEPLOYMENT, WEB, bench.writer.version)
    bench.webapp(version=900, generation=2, ports=RENAMED)
    bench.run()
    assert target(bench) == 8080
    roll_out(bench)
    bench.run()
    assert target(bench) == "web"


def test_a_renamed_port_of_a_sidecar_is_a_target_by_number(bench: Bench) -> None:
    sidecar = {"name": "proxy", "image": "registry.example/proxy:1", "ports": [{"name": "edge", "containerPort": 9000}]}
    service = {"ports": [{"name": "http", "port": 8080, "targetPort": "edge"}]}
    bench.webapp(version=900, generation=2, service=service, sidecars=[sidecar])
    bench.run()
    roll_out(bench)
    renamed = {**sidecar, "ports": [{"name": "front", "containerPort": 9000}]}
    service = {"ports": [{"name": "http", "port": 8080, "targetPort": "front"}]}
    bench.webapp(version=1000, generation=3, service=service, sidecars=[renamed])
    bench.run()
    assert target(bench) == 9000
    roll_out(bench)
    bench.run()
    assert target(bench) == "front"


def test_a_rollout_that_was_first_leads_to_the_old_pods_too(bench: Bench) -> None:
    """The write of the Service failed, and the Deployment no longer tells the former name."""
    bench.webapp(version=900, generation=2, ports=RENAMED)
    live = bench.store.get(SERVICE, WEB)
    assert live is not None
    bench.run()
    roll_out(bench, replicas=2)
    bench.writer.version += 1
    bench.store.observe(dataclasses.replace(live, version=bench.writer.version))
    assert target(bench) == "http"
    bench.run()
    assert target(bench) == 8080
