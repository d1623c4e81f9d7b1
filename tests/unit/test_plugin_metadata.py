"""Without the right to patch, the plan merges the metadata of a file as kubectl does."""

import json
from dataclasses import replace
from typing import Any

import pytest

from coxswain.webapp.kinds import WEBAPP
from coxswain.webapp.releases import render
from kubectl_coxswain.proposal import merged
from unit.model_bench import SPEC
from unit.plugin_bench import LAST_APPLIED, PluginBench


def webapp(field: str, values: Any, last: Any = None) -> dict[str, Any]:
    """Return a WebApp with annotations or labels."""
    metadata: dict[str, Any] = {"name": "web", "namespace": "shop", "annotations": {}}
    metadata = {**metadata, field: values} if values is not None else metadata
    if last is not None:
        applied = {LAST_APPLIED: json.dumps({"metadata": {field: last}, "spec": {}})}
        metadata["annotations"] = {**metadata["annotations"], **applied}
    return {"metadata": metadata, "spec": {}}


@pytest.mark.parametrize("field", ["annotations", "labels"])
@pytest.mark.parametrize(
    ("live", "last", "wanted", "expected"),
    [
        ({"a": "1"}, {}, {"b": "2"}, {"a": "1", "b": "2"}),
        ({"a": "1"}, {"a": "1"}, {"a": "2"}, {"a": "2"}),
        ({"a": "1", "b": "2"}, {"a": "1"}, {}, {"b": "2"}),
        ({"a": "1"}, {"a": "1"}, None, {}),
        (None, None, {"a": "1"}, {"a": "1"}),
        (None, None, None, {}),
    ],
)
def test_metadata_is_merged(field: str, live: Any, last: Any, wanted: Any, expected: Any) -> None:
    found = merged(webapp(field, wanted), webapp(field, live, last), {})["metadata"].get(field) or {}
    assert {key: value for key, value in found.items() if key != LAST_APPLIED} == expected


@pytest.mark.parametrize("last", ["{", "null", '"text"', "[]"])
def test_an_annotation_that_is_no_manifest_removes_nothing(last: str) -> None:
    live = webapp("labels", {"a": "1"})
    live["metadata"]["annotations"] = {LAST_APPLIED: last}
    assert merged(webapp("labels", {"b": "2"}), live, {})["metadata"]["labels"] == {"a": "1", "b": "2"}


def test_a_file_that_asks_for_the_newest_defaults_is_planned_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    class Recorded(PluginBench):
        def forget_revisions(self) -> None:
            """Keep those of the operator."""

    bench = Recorded()
    bench.model.patch(WEBAPP.path("shop", "web"), {"metadata": {"annotations": {"team": "blue"}}})
    monkeypatch.setattr(render, "VERSIONS", {**render.VERSIONS, "2": replace(render.VERSIONS["1"], max_surge="50%")})
    bench.kubectl.forbidden.add(("patch", "webapps"))
    metadata = {"name": "web", "annotations": {"coxswain.dev/render": "latest"}}
    manifest = {"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "metadata": metadata, "spec": SPEC}
    [found] = bench.json("plan", "-f", "-", stdin=json.dumps(manifest))["items"]
    assert "the defaults of the pods of web change: render version 2 instead of 1" in found["notes"]
