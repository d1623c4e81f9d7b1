"""All metrics are documented, and the number of series is bounded."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from bench import in_memory
from coxswain.gauges import collected
from coxswain.settings import Settings
from rendered import KINDS
from unit.metric_changes import OURS, Change
from unit.test_reference import names, rows

Series = set[tuple[str, frozenset[tuple[str, str]]]]


def wave(namespaces: Sequence[str], count: int, settings: Settings = in_memory.PROMPT) -> tuple[Series, set[str]]:
    """Let an operator create WebApps in each namespace. Return all series of /metrics and the documented names."""
    found: Series = set()
    families: set[str] = set()

    async def whole() -> None:
        cluster = in_memory.Cluster(namespaces)
        manager = in_memory.manager(cluster, settings)

        async def body() -> None:
            for namespace in namespaces:
                for number in range(count):
                    cluster.create(namespace, f"tenant-{number}")
            while cluster.statuses() < len(namespaces) * count:
                await asyncio.sleep(0.05)
            with collected(lambda: manager.readings):
                text = generate_latest().decode()
            for family in text_string_to_metric_families(text):
                if OURS.match(family.name):
                    families.add(family.name + ("_total" if family.type == "counter" else ""))
                    found.update((each.name, frozenset(each.labels.items())) for each in family.samples)

        await in_memory.during(manager, body)

    asyncio.run(whole())
    return found, families


def test_the_documented_metrics_are_those_of_the_operator() -> None:
    documented = {names(row[0])[0]: names(row[2]) for row in rows("Metrics")}
    # A process without leader election has none; test_lease_election.py tests it.
    elected = {"leader_election_master_status"}
    series, families = wave(["shop"], 1)
    assert families | elected == documented.keys()
    for name, labels in series:
        family = name if name in documented else re.sub("_(bucket|count|sum)$", "", name)
        assert sorted(label for label, _ in labels if label != "le") == sorted(documented[family]), name


def test_counters_by_kind_begin_with_0() -> None:
    """PromQL's `increase` does not see the first count of a series that begins with it."""
    series, _ = wave(["shop"], 1)
    found = {(name, dict(labels).get("kind")) for name, labels in series}
    assert {("coxswain_unreadable_objects_total", kind.collection) for kind in KINDS.watched} <= found
    assert {("coxswain_drift_corrected_total", kind.kind) for kind in KINDS.children} <= found


@pytest.mark.thorough
def test_tenants_add_no_series() -> None:
    """Further namespaces, WebApps and managers in one process."""
    first, _ = wave(["shop"], 1)
    change = Change()
    second, _ = wave(["red-team", "blue-team"], 5)
    assert change.of("controller_runtime_reconcile_time_seconds_count", controller="webapp") >= 10
    assert change.of("rest_client_requests_total", method="PATCH", code="201", host="model:6443") == 50
    assert second - first == set()
    values = {value for name, labels in second for _, value in labels if name != "coxswain_unlisted"}
    assert not [value for value in values if re.search("tenant|team|shop|uid-", value)]


@pytest.mark.thorough
def test_a_served_namespace_adds_one_gauge_for_each_kind() -> None:
    """The admin of the operator chooses them."""
    everything, _ = wave(["chosen"], 1)
    named, _ = wave(["chosen"], 1, replace(in_memory.PROMPT, namespaces=("chosen",)))
    assert {name for name, _ in named - everything} == {"coxswain_unlisted"}
    assert {dict(labels)["namespace"] for _, labels in named - everything} == {"chosen"}
    assert len(named - everything) <= len(KINDS.watched)
