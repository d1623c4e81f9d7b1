"""`-A`: WebApps of all namespaces are told apart, and a note about several of them is told once."""

from collections.abc import Sequence

import pytest

from coxswain.webapp.kinds import WEBAPP
from unit.model_bench import SPEC
from unit.plugin_bench import PluginBench
from unit.plugin_states import condition


@pytest.fixture
def bench() -> PluginBench:
    """A WebApp of the same name in each of two namespaces, both contested; Services and Events may not be read."""
    found = PluginBench(reconciled=False)
    found.model.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "blog"}})
    made = {"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "metadata": {"name": "web"}, "spec": SPEC}
    found.model.post(WEBAPP.path("blog"), made)
    contested = (("Ready", "False"), ("Contested", "True"))
    conditions = [condition(each, status, "WriteWar", "a field") for each, status in contested]
    for namespace in ("blog", "shop"):
        status = {"status": {"observedGeneration": 1, "conditions": conditions}}
        assert found.model.patch(WEBAPP.path(namespace, "web", "status"), status).status == 200
    found.kubectl.forbidden |= {("list", "services"), ("get", "services"), ("list", "events")}
    return found


@pytest.mark.parametrize(
    ("command", "text", "note"),
    [
        ("drift", "web differs from the desired state", "Service is not compared"),
        ("why", "web is Contested", "Events are missing here"),
        ("conflicts", "web is contested", ""),
    ],
)
def test_each_webapp_has_its_namespace_and_each_note_comes_once(
    bench: PluginBench, command: str, text: str, note: str
) -> None:
    assert bench.run(command, "-A") == 0
    assert [line.partition(text)[0] for line in bench.out.splitlines() if text in line] == ["blog/", "shop/"]
    assert bench.err.count(note) == 1 or not note
    assert bench.run(command, "web") == 0
    assert bench.out.startswith(text), "one namespace needs no name"


def test_lost_credentials_are_reported_once(bench: PluginBench) -> None:
    def expire(words: Sequence[str]) -> None:
        if WEBAPP.plural not in words[-1]:
            bench.kubectl.stderr = "error: You must be logged in to the server (Unauthorized)"

    bench.kubectl.before = expire
    assert bench.run("drift", "-A") == 1
    assert bench.err.count("error: the cluster does not accept your credentials") == 1
