"""A CRD older than the operator: unsupported status fields are reported once, and all others are written.

The API server refuses a Server-Side Apply with an unknown field as a whole (500, "field not declared in schema"), and
omits such a field from stored data. In a separate Kubernetes.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from cluster import ControlPlane
from cluster.operator_process import OperatorProcess
from integration.conftest import ROOT
from integration.scene import SPEC, Scene, eventually
from yaml_files import document

CRDS = ROOT / "crds" / "webapps.yaml"


def fields(crd: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of the status fields."""
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    found: dict[str, Any] = schema["properties"]["status"]["properties"]
    return found


def install(plane: ControlPlane, crd: dict[str, Any]) -> None:
    """Install the CRD, and wait until the API server serves it, which is shortly after the response."""
    plane.kubectl("apply", "--server-side", "--force-conflicts", "--filename", "-", input=json.dumps(crd))
    described = set(fields(crd))

    def served() -> bool:
        document = json.loads(plane.kubectl("get", "--raw", "/openapi/v3/apis/coxswain.dev/v1"))
        schemas = document["components"]["schemas"]
        webapp = next(schema for name, schema in schemas.items() if name.endswith(".WebApp"))
        return set(webapp["properties"]["status"]["properties"]) == described

    eventually(served, "the API server serves the CRD", timeout=75)


@pytest.fixture(scope="module")
def older() -> Iterator[Scene]:
    """A Kubernetes with a CRD without `status.url`, and an operator."""
    crd = document(CRDS)
    del fields(crd)["url"]
    with ControlPlane(manifests=[CRDS]) as plane:
        plane.kubectl("apply", "--kustomize", str(ROOT / "manifests/overlays/out-of-cluster"))
        install(plane, crd)
        kubeconfig = plane.service_account_kubeconfig("coxswain-system", "coxswain")
        operator = OperatorProcess(kubeconfig, plane.directory / "logs" / "operator.log")
        operator.start()
        yield Scene(plane, "default", operator)
        operator.stop()


def errors(scene: Scene) -> list[str]:
    """Return the error lines of the operator's log about an older CRD."""
    lines = [line for line in scene.operator.logged().splitlines() if " error " in line.lower()]
    return [line for line in lines if "CRD" in line and "older" in line]


def test_the_log_names_the_field_and_the_cause(older: Scene) -> None:
    older.apply()
    found = eventually(lambda: errors(older), "an error line")
    assert re.search(r"\burl\b", found[0])
    assert "operator" in found[0]


def test_an_event_reports_the_pruned_fields(older: Scene) -> None:
    older.apply()
    event = eventually(
        lambda: next((found for found in older.events() if found["reason"] == "StatusPruned"), None), "an Event"
    )
    assert event["type"] == "Warning"
    assert "url" in event["note"]


def test_the_rest_of_the_status_is_written(older: Scene) -> None:
    status = older.apply_ready()["status"]
    assert "url" not in status
    assert status["readyReplicas"] == 1
    assert {child["health"] for child in status["children"]} == {"Healthy"}


@pytest.mark.slow
def test_it_comes_to_rest_and_does_not_say_it_again_and_again(older: Scene) -> None:
    older.apply_ready()
    older.settled(older.cluster.audit(), seconds=3)
    mark, told = older.cluster.audit(), len(errors(older))
    older.kubectl("annotate", "webapp", "web", "example.com/note=nothing")
    older.apply_ready(spec={**SPEC, "config": {"GREETING": "again"}})
    requests = older.settled(mark, seconds=3)
    print(f"a change under an older CRD: {dict(requests)}; error lines before {told}, after {len(errors(older))}")
    assert requests["patch webapps/status"] <= 8
    assert len([found for found in older.events() if found["reason"] == "StatusPruned"]) == 1


def test_with_the_crd_of_the_operator_the_whole_status_is_written(older: Scene) -> None:
    older.apply_ready()
    install(older.cluster, document(CRDS))
    older.operator.stop()
    older.operator.start()
    older.apply_ready(spec={**SPEC, "config": {"GREETING": "new"}})
    eventually(lambda: older.get("webapp")["status"].get("url"), "the url")
    assert errors(older) == []
