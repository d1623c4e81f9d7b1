"""Missing objects in `restartOn`: the message, and objects that may be missing."""

from typing import Any

import pytest

from coxswain.kernel.status.health import HEALTHY
from coxswain.webapp.restarts import explained
from rendered import Empty
from unit.objects import webapp


def test_missing_objects_are_named() -> None:
    one = explained(webapp(restartOn={"secrets": ["db"]}), HEALTHY, Empty()).health
    assert one.message.startswith("spec.restartOn names Secret db, which does not exist. The pods restart after")
    two = explained(webapp(restartOn={"secrets": ["db"], "configMaps": ["flags"]}), HEALTHY, Empty()).health
    assert two.message.startswith("spec.restartOn names Secret db, ConfigMap flags, which do not exist. The pods")
    assert "Create them, or correct the names in spec.restartOn: kubectl edit webapp web" in two.message


KEY = {"name": "db", "key": "password"}
VOLUME = {"name": "db", "mountPath": "/db"}


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"env": [{"name": "A", "valueFrom": {"secretKeyRef": {**KEY, "optional": True}}}]}, False),
        ({"env": [{"name": "A", "valueFrom": {"secretKeyRef": KEY}}]}, True),
        ({"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {**KEY, "optional": True}}}]}, True),
        ({"envFrom": [{"secretRef": {"name": "db", "optional": True}}]}, False),
        ({"envFrom": [{"secretRef": {"name": "other", "optional": True}}]}, True),
        ({"volumes": [{**VOLUME, "secret": {"secretName": "db", "optional": True}}]}, False),
        ({"volumes": [{**VOLUME, "projected": {"sources": [{"secret": {"name": "db", "optional": True}}]}}]}, False),
        (
            {"sidecars": [{"name": "s", "image": "s", "envFrom": [{"secretRef": {"name": "db", "optional": True}}]}]},
            False,
        ),
        (
            {
                "envFrom": [{"secretRef": {"name": "db", "optional": True}}],
                "initContainers": [{"name": "s", "image": "s", "envFrom": [{"secretRef": {"name": "db"}}]}],
            },
            True,
        ),
    ],
)
def test_a_missing_object_that_is_optional_is_no_warning(spec: dict[str, Any], told: bool) -> None:
    found = explained(webapp(restartOn={"secrets": ["db"]}, **spec), HEALTHY, Empty()).health
    assert (found.reason == "NotFound") is told
