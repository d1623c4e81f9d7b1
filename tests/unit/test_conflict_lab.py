"""The pure parts of the conflict lab: lost updates, the requests of each write method, and the page of a run."""

import asyncio
import dataclasses
import itertools
import json
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from cluster.catalog import KUBERNETES
from conflict_lab import lessons
from conflict_lab.__main__ import CHART, PAGE
from conflict_lab.chart import MEASURES, Axis, chart
from conflict_lab.page import TEXT, page
from conflict_lab.results import Case, Cell, Machine, Meeting, Results, Verdict, judge, lost, percentile
from conflict_lab.run import from_data, to_data
from conflict_lab.subject import TEMPLATE
from conflict_lab.ways import WAYS, Workload, named
from conflict_lab.writers import Answer, Target, write
from unit.conflict_lab_object import thing

SHARED, OWN = Workload.SHARED, Workload.OWN


def test_a_lost_update_is_an_acknowledged_increment_that_is_not_in_the_result() -> None:
    assert lost(SHARED, {"A": 3, "B": 2}, thing(4)) == 1
    assert lost(SHARED, {"A": 3, "B": 1}, thing(4)) == 0
    assert lost(OWN, {"A": 3, "B": 2, "C": 1}, thing(A=3, B=1)) == 2, "one update of B is lost, and C has no entry"
    assert lost(OWN, {"A": 3, "B": 0}, thing(A=3)) == 0


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [([], 99, 0.0), ([5.0], 99, 5.0), ([3.0, 1.0, 2.0], 50, 2.0), ([float(n) for n in range(1, 201)], 99, 198.0)],
)
def test_percentile_is_a_value_that_was_measured(values: list[float], percent: float, expected: float) -> None:
    assert percentile(values, percent) == expected


@pytest.mark.parametrize(
    ("accepted", "found", "verdict"),
    [
        (True, {"A": 2, "B": 2, "C": 1}, Verdict.KEPT),
        (False, {"A": 2, "B": 1, "C": 1}, Verdict.REFUSED),
        (True, {"A": 2, "B": 1, "C": 1}, Verdict.LOST),
        (True, {"A": 1, "B": 2, "C": 1}, Verdict.LOST),
        (True, {"A": 2, "B": 1, "C": 2}, Verdict.ASTRAY),
        (False, {"A": 2, "B": 1, "C": 2}, Verdict.ASTRAY),
    ],
)
def test_a_meeting_is_judged_by_what_is_found(accepted: bool, found: dict[str, int], verdict: Verdict) -> None:
    before, wanted = {"A": 2, "B": 1, "C": 1}, {"A": 2, "B": 2, "C": 1}
    assert judge(accepted=accepted, before=before, wanted=wanted, found=found, third="C") is verdict


class _Server(Target):
    """A server that refuses some PUTs before it accepts one."""

    def __init__(self, *, refuses: int) -> None:
        self.thing: Any = thing(0)
        self.subject = TEMPLATE
        self._refuses = refuses

    async def get(self) -> Any:
        return self.thing

    async def send(self, request: Any, writer: str) -> Answer:
        await asyncio.sleep(0.001)
        if self._refuses:
            self._refuses -= 1
            return Answer(409, {"reason": "Conflict", "details": {"causes": [{"reason": writer}]}})
        self.thing = request.body
        return Answer(200, self.thing)


def test_a_refused_writer_looks_again_and_counts_one_update() -> None:
    server = _Server(refuses=2)
    ticks = itertools.count()
    writing = write(server, named("put-version"), SHARED, "A", until=0.05, clock=lambda: next(ticks) / 1000)
    tally = asyncio.run(writing)
    assert (tally.conflicts, tally.with_causes, tally.retries) == (2, 2, 2)
    assert tally.reads == tally.writes == 2 + len(tally.latencies)
    assert TEMPLATE.counter(server.thing) == len(tally.latencies) > 0
    assert tally.latencies[0] >= 0.003, "the two retries are in it"


def test_a_writer_of_its_own_entry_goes_by_the_answer_to_its_last_write() -> None:
    by_answer = {"json-patch", "json-patch-value", "strategic", "apply", "apply-force"}
    assert {way.name for way in WAYS if not way.reads(OWN)} == by_answer
    assert all(way.reads(SHARED) for way in WAYS)


def cell(way: str, workload: Workload, writers: int, **other: Any) -> Cell:
    many = writers > 1
    blind = not named(way).guarded and (workload is SHARED or way in ("put", "merge-patch"))
    refused = 30 * writers if many and named(way).guarded else 0
    if way in ("apply", "json-patch-value") and workload is OWN:
        refused = 0
    acknowledged = 20 if way == "apply" and workload is SHARED else 100
    json_patch = way.startswith("json-patch")
    figures: dict[str, Any] = {
        "seconds": 2.0,
        "acknowledged": acknowledged,
        "lost": 60 if blind and many else 0,
        "conflicts": 0 if json_patch else refused,
        "with_causes": refused if way == "apply" else 0,
        "unprocessable": refused if json_patch else 0,
        "timeouts": 0,
        "retries": refused,
        "reads": 10,
        "writes": 100 + refused,
        "p99": 0.01 * writers,
        "shut_out": 0,
        "client": 0.3,
        "server": 1.2,
    }
    return Cell(way, workload, writers, **{**figures, **other})


_ASTRAY = {("json-patch", Case.MOVED): Verdict.ASTRAY, ("json-patch-value", Case.MOVED): Verdict.REFUSED}
_MEETINGS = {**_ASTRAY, ("strategic", Case.MOVED): Verdict.KEPT, ("apply", Case.EQUAL): Verdict.LOST}


@pytest.fixture
def results() -> Results:
    machine = Machine("v1.0.0", "2026-01-02", 2, 0.5, 2.0)
    cells = tuple(cell(way.name, workload, count) for workload in Workload for count in (1, 4, 16) for way in WAYS)
    meetings = tuple(
        Meeting(way.name, case, 200, "", (), _MEETINGS.get((way.name, case), Verdict.KEPT))
        for way in WAYS
        for case in Case
    )
    return Results(machine, cells, meetings)


def on_status(results: Results) -> Results:
    """Return a run on a status, with one writer."""
    cells = tuple(each for each in results.cells if each.writers == 1 and each.way != "strategic")
    return dataclasses.replace(results, cells=cells)


def page_of(results: Results) -> str:
    return page(results, on_status(results))


def changed(results: Results, way: str, workload: Workload, **figures: Any) -> Results:
    cells = tuple(
        dataclasses.replace(each, **figures)
        if (each.way, each.workload, each.writers) == (way, workload, max(results.counts))
        else each
        for each in results.cells
    )
    return dataclasses.replace(results, cells=cells)


def test_every_way_has_a_lesson_that_a_run_can_bear_out(results: Results) -> None:
    assert list(lessons.LESSONS) == [way.name for way in WAYS]
    for way in WAYS:
        told = lessons.lesson(results, way.name)
        assert "Not borne out" not in told, way.name
        assert told.endswith(".")


@pytest.mark.parametrize(
    ("way", "workload", "figures"),
    [
        *((way.name, SHARED, {"lost": 1}) for way in WAYS if way.guarded and way.name != "apply"),
        *((way.name, OWN, {"lost": 1}) for way in WAYS if way.name not in ("put", "merge-patch")),
        *((way.name, SHARED, {"lost": 0}) for way in WAYS if not way.guarded),
        *((way, OWN, {"lost": 0}) for way in ("put", "merge-patch")),
        *((way, OWN, {"conflicts": 1}) for way in ("json-patch", "json-patch-value", "strategic", "apply")),
        ("json-patch-version", SHARED, {"conflicts": 1}),
        ("put-version", SHARED, {"unprocessable": 1}),
        ("put-version", OWN, {"conflicts": 0}),
        ("apply", SHARED, {"with_causes": 1}),
        ("apply", SHARED, {"acknowledged": 1000}),
        ("apply-force-version", SHARED, {"with_causes": 1}),
    ],
)
def test_a_lesson_that_the_run_refutes_says_so(
    results: Results, way: str, workload: Workload, figures: dict[str, int]
) -> None:
    refuted = changed(results, way, workload, **figures)
    assert lessons.lesson(refuted, way).startswith("**Not borne out by this run:** ")
    assert page_of(refuted).count("Not borne out") == 1


@pytest.mark.parametrize(("way", "case"), list(_MEETINGS))
def test_a_lesson_about_a_meeting_is_refuted_by_another_outcome(results: Results, way: str, case: Case) -> None:
    other = Verdict.REFUSED if _MEETINGS[way, case] is not Verdict.REFUSED else Verdict.ASTRAY
    meetings = tuple(
        dataclasses.replace(each, verdict=other) if (each.way, each.case) == (way, case) else each
        for each in results.meetings
    )
    refuted = dataclasses.replace(results, meetings=meetings)
    assert lessons.lesson(refuted, way).startswith("**Not borne out")


def test_an_update_of_which_nobody_knows_whether_it_was_written_refutes_nothing(results: Results) -> None:
    unknown = changed(results, "put-version", SHARED, lost=-1, timeouts=1, conflicts=5)
    assert "Not borne out" not in lessons.lesson(unknown, "put-version")
    assert "answered 504: 1." in page_of(unknown)


def test_the_page_has_every_figure_and_says_when_the_client_was_the_limit(results: Results) -> None:
    text = page_of(changed(results, "put", OWN, client=0.95, lost=60, acknowledged=100))
    rows = [line for line in text.splitlines() if line.startswith(("| 1 |", "| 4 |", "| 16 |"))]
    assert len(rows) == len(results.cells) + len(on_status(results).cells)
    assert sum("\\*" in row for row in rows) == 1
    row = next(row for row in rows if "\\*" in row)
    assert row == "| 16 | PUT without | 50\\* | 20 | 0.40 | 100 | **60** (60%) | 0 | 0 | 0 | 0 | 0 | 1.1 | 160 | 0 |"
    assert f"1 of {len(results.cells)} figures have a \\*" in " ".join(text.split())
    assert "**the entry of a third writer is overwritten**" in text


def test_the_page_names_the_methods_that_lose_updates_of_a_status(results: Results) -> None:
    refused = Meeting("strategic", Case.SHARED, 415, "UnsupportedMediaType", (), Verdict.REFUSED)
    meetings = (refused, *results.meetings)
    several = tuple(each for each in results.cells if each.writers == 4 and each.way != "strategic")
    text = " ".join(page(results, dataclasses.replace(results, cells=several, meetings=meetings)).split())
    assert "Always refused: Strategic Merge Patch with 415." in text
    assert "the shared field were lost by PUT without, JSON Patch, Merge Patch, Apply with force." in text
    assert "own entries were lost by PUT without, Merge Patch." in text


def test_that_the_server_tries_again_is_told_only_where_a_crowd_waits_longer(results: Results) -> None:
    assert "Not borne out" not in page_of(results)
    assert page_of(changed(results, "apply", OWN, p99=0.0)).count("- **Not borne out by this run:** The server") == 1


def test_results_survive_being_kept(results: Results) -> None:
    again = from_data(json.loads(json.dumps(to_data(results))))
    assert again == results
    assert page_of(again) == page_of(results)


@pytest.mark.parametrize(
    ("values", "logarithmic", "ticks"),
    [
        ([3.0, 250.0], True, [1, 10, 100, 1000]),
        ([10.0], True, [10, 100]),
        ([0.0], True, [1, 10]),
        ([20.0, 40.0], False, [0, 25, 50, 75, 100]),
    ],
)
def test_an_axis_spans_its_values(values: list[float], logarithmic: bool, ticks: list[float]) -> None:
    axis = Axis.over(values, logarithmic)
    assert axis.ticks == ticks
    assert (axis.at(ticks[0]), axis.at(ticks[-1])) == (0.0, 1.0)
    assert all(0 <= axis.at(value) <= 1 for value in values)


def test_the_chart_has_a_line_for_each_way_and_nothing_outside(results: Results) -> None:
    root = ET.fromstring(chart(results))  # noqa: S314 - our own text
    lines = [element for element in root.iter() if element.tag.endswith("polyline")]
    assert len(lines) == len(WAYS) * (len(Workload) * len(MEASURES) + 1)
    titles = {element.text for element in root.iter() if element.tag.endswith("title")}
    assert titles == {way.title.replace("`", "") for way in WAYS}
    for line in lines:
        for point in line.attrib["points"].split():
            x, y = map(float, point.split(","))
            assert x >= 0 <= y


def test_what_is_kept_is_what_was_acknowledged_and_not_lost(results: Results) -> None:
    found = results.most("put", SHARED)
    assert (found.rate, found.lost_share, found.kept_rate) == (50, 0.6, 20)


def test_the_page_in_docs_is_of_this_text_and_this_kubernetes() -> None:
    """Only the figures may differ from the page; otherwise `make conflict-lab` must be run again."""
    written = PAGE.read_text(encoding="utf-8").splitlines()
    fixed = [line for line in TEXT.splitlines() if "{" not in line]
    assert [line for line in fixed if line not in written] == []
    assert str(KUBERNETES.version) in "\n".join(written)
    assert all(any(f"| {way.title} | " in line for line in written) for way in WAYS)
    assert CHART.read_text(encoding="utf-8").count("<polyline") == len(WAYS) * 7
