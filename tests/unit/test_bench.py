"""The arithmetic of the benchmarks: valid measurements, comparisons, and the text of the page."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.aims import verdicts
from bench.drift import DRIFTS, _healed
from bench.page import page
from bench.profile import sorted_by_part
from bench.results import (
    BARE,
    CONTROLLER_RUNTIME,
    COXSWAIN,
    Machine,
    Measured,
    Results,
    load,
    merged,
    percentile,
    ratios,
    save,
)
from bench.tables import number, rows_of
from bench.webapps import children, children_template, contains, is_available, is_ready, webapp
from coxswain.webapp.kinds import WEBAPP
from rendered import desired, observe, webapp_of

DOCS = Path(__file__).parents[2] / "docs"
MACHINE = Machine("2026-01-01", "v1.36.3", 2, "3.11.7", 0.5)


def converged(peer: str, seconds: float, number: int = 1, *, size: int = 500, **more: Any) -> Measured:
    requests = {"patch deployments": size, "patch webapps/status": 2 * size, "create events": size}
    requests["patch controllerrevisions"] = 2 * size
    return Measured("B1", peer, size, number, figures={"seconds": seconds}, requests=requests, **more)


def results(*measured: Measured) -> Results:
    return Results(MACHINE, measured)


def test_a_ratio_is_of_one_round() -> None:
    measured = [converged(COXSWAIN, 11), converged(BARE, 10), converged(COXSWAIN, 40, 2), converged(BARE, 20, 2)]
    assert ratios(measured, "seconds", BARE) == [1.1, 2.0]


def test_what_is_void_is_in_no_ratio() -> None:
    measured = [converged(COXSWAIN, 11), converged(BARE, 10, void=("wrong",)), converged(COXSWAIN, 9, 2)]
    assert ratios(measured, "seconds", BARE) == []


def test_percentiles() -> None:
    assert percentile(range(1, 101), 0.99) == 100
    assert percentile(range(1, 101), 0.5) == 51
    assert percentile([7.0], 0.99) == 7.0


def test_what_is_measured_again_replaces_the_same(tmp_path: Path) -> None:
    found = merged(
        results(converged(COXSWAIN, 11), converged(BARE, 10)), [converged(COXSWAIN, 9)], {"B1": {"TLS": 1.0}}
    )
    assert [each.figures["seconds"] for each in found.measured] == [9, 10]
    save(found, tmp_path / "kept.json")
    assert load(tmp_path / "kept.json") == found


@pytest.mark.parametrize(
    ("seconds", "met"), [(11.0, "N = 500: 1.10 (1.10 to 1.10) | yes"), (11.2, "N = 500: 1.12 (1.12 to 1.12) | **no**")]
)
def test_an_aim_is_met_or_not(seconds: float, met: str) -> None:
    assert met in verdicts(results(converged(COXSWAIN, seconds), converged(BARE, 10)))


def test_an_aim_is_judged_by_its_worst_size() -> None:
    found = [
        converged(COXSWAIN, 10),
        converged(BARE, 10),
        converged(COXSWAIN, 30, size=1000),
        converged(BARE, 20, size=1000),
    ]
    assert "N = 500: 1.00 (1.00 to 1.00), N = 1000: 1.50 (1.50 to 1.50) | **no**" in verdicts(results(*found))


def outage_of(case: str, **figures: float) -> Measured:
    return Measured("B10", COXSWAIN, 100, 1, case=case, figures=figures)


def test_a_figure_that_is_missing_is_no_aim_that_was_met() -> None:
    whole = {"exits": 0.0, "seconds until written": 2.0, "seconds until Ready": 3.0}
    assert "seconds until Ready 3 | yes |" in verdicts(results(outage_of("503", **whole)))
    part = {name: value for name, value in whole.items() if name != "seconds until Ready"}
    found = verdicts(results(outage_of("503", **whole), outage_of("stopped", **part)))
    assert "seconds until Ready 3, seconds until Ready of stopped not measured |  |" in found
    late = outage_of("429", **{**whole, "seconds until written": 20.0})
    assert "of stopped not measured | **no** |" in verdicts(results(late, outage_of("stopped", **part)))


def storm_of(case: str, seconds: float) -> Measured:
    return Measured("B9", COXSWAIN, 100, 1, case=case, figures={"p99 until written": seconds})


@pytest.mark.parametrize(("seconds", "met"), [(0.14, "yes"), (0.16, "**no**")])
def test_a_storm_is_judged_against_none(seconds: float, met: str) -> None:
    measured = [storm_of("0 writers", 0.1), storm_of("16 writers", seconds), storm_of("64 writers", 5.0)]
    found = verdicts(results(*measured, storm_of("16 writers aside", 0.3)))
    assert f"64 writers: 50.0 | {met} |" in found


def test_a_third_status_write_misses_the_aim() -> None:
    one = converged(COXSWAIN, 11)
    more = Measured("B1", COXSWAIN, 500, 2, requests={**one.requests, "patch webapps/status": 1001})
    assert "2 status writes, 0 GETs | yes" in verdicts(results(one))
    assert "status writes, 0 GETs | **no**" in verdicts(results(one, more))


def test_writes_from_before_revisions_are_not_judged() -> None:
    one = converged(COXSWAIN, 11)
    before = Measured("B1", COXSWAIN, 500, 1, requests={"patch deployments": 500, "patch webapps/status": 1000})
    assert "2 status writes, 0 GETs | not judged |" in verdicts(results(before))
    assert "Not judged: B2 were measured before revisions existed." in verdicts(results(before))
    assert "Not judged" not in verdicts(results(one))
    late = Measured("B1", COXSWAIN, 500, 1, requests={"patch webapps/status": 1501})
    assert "status writes, 0 GETs | **no** |" in verdicts(results(late))


@pytest.mark.parametrize(("seconds", "met"), [(11.0, "yes"), (11.2, "**no**")])
def test_convergence_is_judged_against_controller_runtime(seconds: float, met: str) -> None:
    found = row_of("controller-runtime at each size", converged(COXSWAIN, seconds), converged(CONTROLLER_RUNTIME, 10))
    assert found.endswith(f"| {met} |")


@pytest.mark.parametrize(("seconds", "met"), [(6.0, "12.0 ms | yes |"), (6.1, "12.2 ms | **no** |")])
def test_cpu_is_judged_by_webapp(seconds: float, met: str) -> None:
    one = Measured("B1", COXSWAIN, 500, 1, figures={"operator CPU": seconds})
    assert row_of("CPU for each created WebApp", one).endswith(f"N = 500: {met}")


@pytest.mark.parametrize(("seconds", "met"), [(1.9, "yes"), (2.1, "**no**")])
def test_a_restart_is_judged_by_its_seconds(seconds: float, met: str) -> None:
    small = Measured("B6", COXSWAIN, 1000, 1, figures={"seconds": 9.0})
    found = row_of("3000 WebApps in step", small, Measured("B6", COXSWAIN, 3000, 1, figures={"seconds": seconds}))
    assert found.endswith(f"| {met} |")


@pytest.mark.parametrize(("megabytes", "met"), [(139.0, "yes"), (140.0, "**no**")])
def test_memory_is_judged_after_a_restart_too(megabytes: float, met: str) -> None:
    found = row_of("after a restart", Measured("B6", COXSWAIN, 3000, 1, figures={"MB": megabytes}))
    assert found.endswith(f"{megabytes:.0f} MB at N = 3000 | {met} |")


@pytest.mark.parametrize(("seconds", "met"), [(1.9, "yes"), (2.1, "**no**")])
def test_an_outage_is_judged_by_the_write_after_it(seconds: float, met: str) -> None:
    found = row_of("return of the API server", outage_of("503", **{"seconds until written": seconds}))
    assert found.endswith(f"| {met} |")


def row_of(aim: str, *measured: Measured) -> str:
    """Return the row of one aim."""
    [row] = [line for line in verdicts(results(*measured)).splitlines() if aim in line]
    return row


def test_an_aim_without_a_figure_is_not_measured() -> None:
    rows = [line for line in verdicts(results()).splitlines() if line.startswith("| B")]
    assert {row.split("|")[1].strip() for row in rows} == {f"B{number}" for number in range(1, 13)} - {"B11"}
    assert all(row.endswith("| not measured |  |") for row in rows)


def test_the_published_page_is_that_of_the_results() -> None:
    assert page(load(DOCS / "benchmarks.json")) in (DOCS / "benchmarks.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("section", "end"), [("Missed targets", "| **no** |"), ("Not measured", "| not measured |  |")]
)
def test_each_aim_that_is_not_met_is_in_the_text(section: str, end: str) -> None:
    text = (DOCS / "benchmarks.md").read_text(encoding="utf-8").partition(f"\n## {section}")[2].partition("\n## ")[0]
    rows = verdicts(load(DOCS / "benchmarks.json")).splitlines()
    benchmarks = {row.split("|")[1].strip() for row in rows if row.endswith(end)}
    assert benchmarks - set(re.findall(r"\bB\d+\b", text)) == set()


def test_each_section_names_its_commit_and_date() -> None:
    one = replace(converged(COXSWAIN, 11), commit="0174cc7", date="2026-11-22")
    text = page(results(one, replace(storm_of("0 writers", 0.1), commit="8eac601", date="2026-11-25")))
    sections = {part.partition(":")[0]: part for part in text.split("\n## ")}
    assert "Commit and date: 0174cc7 (2026-11-22)." in sections["B1"]
    assert "Commit and date: 8eac601 (2026-11-25)." in sections["B9"]
    assert "Commit and date" not in sections["B10"]


def test_the_page_names_what_is_void() -> None:
    text = page(results(converged(COXSWAIN, 11), converged(BARE, 10, 2, void=("3 not done",))))
    assert "1 of 2 runs" in text
    assert "B1 bare, N = 500, round 2: 3 not done" in text
    assert "T / T(controller-runtime)" in text
    assert CONTROLLER_RUNTIME in text


@pytest.mark.parametrize(
    ("value", "text"), [(3.0, "3"), (0.123, "0.12"), (12.34, "12.3"), (1234.5, "1234"), (0.0, "0")]
)
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text


def test_stacks_are_sorted_by_the_innermost_frame_that_belongs_to_anything() -> None:
    stacks = [
        "main (coxswain/main.py:1);_run_once (asyncio/base_events.py:1);get (aiohttp/client.py:1);write (ssl.py:9) 3",
        "main (coxswain/main.py:1);_run_once (asyncio/base_events.py:1);plan (coxswain/kernel/manager.py:9) 2",
        "main (coxswain/main.py:1);<module> (attr/_make.py:7) 1",
        "main (coxswain/main.py:1);_run_once (asyncio/base_events.py:1);select (selectors.py:468) 50",
    ]
    found = sorted_by_part("\n".join(stacks))
    assert dict(found) == {"TLS": 3, "deciding: store, manifests, compare, status": 2, "others": 1}


def live(manifest: dict[str, Any], **status: int) -> dict[str, Any]:
    return {**manifest, "metadata": {**manifest["metadata"], "generation": 2}, "status": status}


def test_the_template_has_all_children_and_is_filled_in() -> None:
    found = webapp("shop", "web")
    found["metadata"] |= {"uid": "uid-1"}
    filled = children(json.dumps(children_template()), found)
    assert [each["kind"] for each in filled] == ["ServiceAccount", "ConfigMap", "Service", "Deployment"]
    assert not any(placeholder in json.dumps(filled) for placeholder in ("NAME", "IMAGE", "UID"))
    assert {each["metadata"]["ownerReferences"][0]["uid"] for each in filled} == {"uid-1"}
    assert filled[-1]["spec"]["replicas"] == 1
    found["metadata"] |= {"resourceVersion": "1", "generation": 1}
    found["spec"] |= {"replicas": 1}
    assert filled == desired(webapp_of(observe(WEBAPP, found))), "the operator renders the same"


def test_available_means_rolled_out() -> None:
    deployment = children_template()[-1]
    counts = {"replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}
    assert is_available(live(deployment, observedGeneration=2, **counts), "IMAGE")
    assert not is_available(live(deployment, observedGeneration=2, **counts), "another")
    assert not is_available(live(deployment, observedGeneration=1, **counts), "IMAGE")
    assert not is_available(live(deployment, observedGeneration=2, **{**counts, "replicas": 2}), "IMAGE")


@pytest.mark.parametrize(("observed", "of_condition", "ready"), [(2, 2, True), (1, 2, False), (2, 1, False)])
def test_ready_at_its_generation(observed: int, of_condition: int, ready: bool) -> None:
    conditions = [{"type": "Ready", "status": "True", "observedGeneration": of_condition}]
    status = {"observedGeneration": observed, "conditions": conditions}
    assert is_ready({"metadata": {"generation": 2}, "status": status}) is ready


def test_contains() -> None:
    assert contains({"a": [{"b": 1, "c": 2}, 3], "d": 4}, {"a": [{"b": 1}]})
    assert not contains({"a": [{"b": 1}]}, {"a": [{"b": 2}]})
    assert not contains({"a": [{"b": 1}]}, {"a": [{"b": 1}, {"b": 2}]})
    assert not contains({}, {"a": {}})


def test_healed_is_another_object_or_the_old_value() -> None:
    label = "app.kubernetes.io/instance"
    before: Any = {"metadata": {"uid": "1", "resourceVersion": "5", "labels": {label: "web"}}, "spec": {"replicas": 1}}
    drifted = {"metadata": {"uid": "1", "resourceVersion": "6", "labels": {label: "drifted"}}, "spec": {"replicas": 3}}
    back = {**before, "metadata": {**before["metadata"], "resourceVersion": "7"}}
    anew = {**back, "metadata": {**back["metadata"], "uid": "2"}}
    for drift in DRIFTS:
        assert not _healed(drift, before, 6, drifted)
        assert not _healed(drift, before, 6, before), "state from before the drift"
        assert not _healed(drift, before, 6, None)
        assert _healed(drift, before, 6, anew if drift.patch is None else back)


def test_a_table_of_one_peer_never_mixes_two() -> None:
    found = results(
        Measured("B7", COXSWAIN, 100, 1, figures={"MB": 90.0}),
        Measured("B7", BARE, 100, 1, figures={"MB": 40.0}),
        Measured("B0", BARE, 100, 1, figures={"p50": 3.0}),
    )
    assert "| N = 100 | 90 |" in rows_of(found, "B7", ("MB",))
    assert "| N = 100 | 3 |" in rows_of(found, "B0", ("p50",))
