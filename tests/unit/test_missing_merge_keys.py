"""A workload whose list items lack a merge key: an error for its author, and no report about others."""

import dataclasses
import logging
from typing import Any

import pytest

from coxswain.kernel.conflicts.diff import differences, lists_without_keys
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.workload import Desired, World
from coxswain.webapp.children import TYPES
from coxswain.webapp.kinds import SERVICE
from coxswain.webapp.spec import WebApp
from coxswain.webapp.workload import WORKLOAD
from unit.bench import WEB, Bench

SERVICE_TYPE = next(each for each in TYPES if each.kind == SERVICE)
ERROR = (
    "Service web: the workload must set the merge key protocol in each item of spec.ports, or the list is never equal"
)
HTTP = {"port": 80, "protocol": "TCP"}
OWNED: dict[str, Any] = {
    "f:spec": {"f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}, "f:protocol": {}}, ".": {}}}
}


def of_ports(*ports: dict[str, Any]) -> Manifest:
    """Return a Service with these ports."""
    return {"metadata": {}, "spec": {"ports": list(ports)}}


@pytest.mark.parametrize(
    ("ports", "keys"),
    [
        ([{"port": 80}], ["protocol"]),
        ([{"port": 80, "protocol": None}], ["protocol"]),
        ([{"port": 80}, {"port": 81, "protocol": "TCP"}], ["protocol"]),
        ([{"protocol": "TCP"}], ["port"]),
    ],
)
def test_the_lists_with_missing_keys(ports: list[dict[str, Any]], keys: list[str]) -> None:
    found = differences(of_ports(*ports), of_ports(HTTP), OWNED)
    assert lists_without_keys(found) == {("f:spec", "f:ports"): keys}


def test_no_list_lacks_a_key() -> None:
    found = differences(of_ports({"port": 81, "protocol": "TCP"}), of_ports(HTTP), OWNED)
    assert found
    assert lists_without_keys(found) == {}


@pytest.mark.parametrize("paused", [False, True])
def test_a_missing_key_is_an_error_of_the_workload(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, paused: bool
) -> None:
    def without_protocol(webapp: WebApp, world: World) -> Desired:
        desired = SERVICE_TYPE.desired(webapp, world)
        assert isinstance(desired, Desired)
        spec = desired.manifest["spec"]
        ports = [{key: value for key, value in port.items() if key != "protocol"} for port in spec["ports"]]
        return dataclasses.replace(desired, manifest={**desired.manifest, "spec": {**spec, "ports": ports}})

    bench = Bench()
    bench.converge()
    live = bench.store.get(SERVICE, WEB)
    assert live is not None
    broken = dataclasses.replace(SERVICE_TYPE, desired=without_protocol)
    monkeypatch.setattr(WORKLOAD, "children", [broken if each is SERVICE_TYPE else each for each in TYPES])
    bench.writer.answer("update Service", live)
    if paused:
        bench.webapp(version=bench.writer.version + 1, generation=2, paused=True)
    with caplog.at_level(logging.ERROR):
        bench.run()
        bench.now += 60
        bench.run()
    (found,) = [each for each in bench.webapp_now().content["status"]["children"] if each["kind"] == "Service"]
    assert found == {"kind": "Service", "name": "web", "health": "Healthy"}
    # Another test of this process may have set a lower level.
    assert {each.getMessage() for each in caplog.records if each.levelno == logging.ERROR} == {ERROR}
