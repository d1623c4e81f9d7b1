"""Invalid input is refused immediately, with a message that names the field; the existing object stays unchanged."""

from typing import Any

import pytest

from cluster import KubectlError
from integration.scene import SPEC, Scene

BAD: dict[str, dict[str, Any]] = {
    "spec.image": {"image": "two words"},
    "spec.image (terminal)": {"image": "registry.example/web\x1b[31m:1"},
    "spec.image (bidirectional)": {"image": "registry.example/\u202ebew:1"},
    "spec.readinessProbe.httpGet.path": {"readinessProbe": {"httpGet": {"port": 80, "path": "/\x1b[2J"}}},
    "spec.replicas": {"replicas": -1},
    "spec.runAsUser": {"runAsUser": 0},
    "spec.ports[0].containerPort": {"ports": [{"name": "http", "containerPort": 70000}]},
    "spec.env": {"env": [{"name": "GREETING", "value": "also in config"}]},
    "spec.labels": {"labels": {"coxswain.dev/webapp": "other"}},
}


@pytest.mark.parametrize("field", BAD)
def test_bad_input_is_refused_and_the_field_named(scene: Scene, field: str) -> None:
    scene.apply()
    before = scene.get("webapp")["spec"]
    with pytest.raises(KubectlError, match=field.partition(" ")[0].replace("[", r"\[")):
        scene.apply(spec={**SPEC, **BAD[field]})
    assert scene.get("webapp")["spec"] == before


def test_a_field_that_does_not_exist_is_refused(scene: Scene) -> None:
    # kubectl reports it if the API server has published the schema already, otherwise the API server does.
    with pytest.raises(KubectlError, match=r'unknown field "(spec\.)?imagge"'):
        scene.apply(spec={**SPEC, "imagge": "registry.example/web:1"})
    assert scene.find("webapp") is None
