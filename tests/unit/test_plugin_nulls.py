"""`null` in a manifest, without the right to try the apply: the plugin merges as kubectl and the API server do."""

from typing import Any

import pytest

from coxswain.webapp.kinds import WEBAPP
from kubectl_coxswain.proposal import defaulted
from unit.model_bench import SPEC
from unit.plugin_bench import LAST_APPLIED, PluginBench
from unit.test_plugin_plan import manifest


@pytest.fixture
def bench() -> PluginBench:
    found = PluginBench()
    found.model.patch(WEBAPP.path("shop", "web"), {"metadata": {"annotations": {LAST_APPLIED: manifest()}}})
    found.model.reconcile()
    found.kubectl.forbidden.add(("patch", "webapps"))
    return found


NULLS: list[dict[str, Any]] = [
    {"replicas": None, "imagePullPolicy": None, "paused": None, "resources": None, "rollout": None},
    {"env": [{"name": "A", "value": "1", "valueFrom": None}]},
    {"labels": {**SPEC["labels"], "gone": None}},
]


@pytest.mark.parametrize("spec", NULLS)
def test_null_is_no_difference_without_the_right_to_try_the_webapp(bench: PluginBench, spec: dict[str, Any]) -> None:
    assert bench.run("plan", "-f", "-", stdin=manifest(**spec)) == 0
    assert bench.out == "web: no differences\n"


def test_null_removes_a_live_value_in_the_local_merge(bench: PluginBench) -> None:
    bench.model.patch(WEBAPP.path("shop", "web"), {"spec": {"replicas": 4, "imagePullPolicy": "Always"}})
    [found] = bench.json("plan", "-f", "-", stdin=manifest(replicas=None, imagePullPolicy=None))["items"]
    assert {each["field"]: (each["live"], each["wanted"]) for each in found["spec"]} == {
        "spec.replicas": ("4", "1"),
        "spec.imagePullPolicy": ("Always", "(none)"),
    }


def test_the_api_server_keeps_null_where_the_schema_allows_it() -> None:
    schema = {"properties": {"a": {"nullable": True, "default": 1}, "b": {"default": 2}, "c": {}}}
    assert defaulted({"a": None, "b": None, "c": None}, schema) == {"a": None, "b": 2}
