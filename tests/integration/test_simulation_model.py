"""The model of the API server against the real one: the same random requests, and the same responses.

The comparison excludes times, uids and resourceVersions (but not their equality and order), Services' addresses, and
the wording of messages. No controllers run, because the simulation's actors replace them.
"""

import itertools
import os
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings

from cluster import ControlPlane
from integration.model_objects import PATHS, manifest_of
from integration.model_sides import CRDS, Model, Real, Request, Side
from integration.model_steps import Step, sequences
from model_cluster.api_server import Response

pytestmark = pytest.mark.semantics

EXAMPLES = int(os.environ.get("MODEL_EXAMPLES", "200"))
FLOORS = {
    "200": 600,
    "201": 180,
    "404 NotFound": 80,
    "409 AlreadyExists": 30,
    "409 Conflict": 90,
    "409 Conflict FieldManagerConflict": 40,
    "422 Invalid": 5,
    "422 Invalid FieldValueInvalid": 30,
    "422 Invalid FieldValueForbidden": 15,
    "500": 8,
    "200 apply": 50,
    "200 operator": 60,
    "200 apply status": 4,
    "200 merge status": 15,
    "200 json patch": 15,
    "200 put": 8,
    "200 merge": 20,
    "200 delete": 20,
    "200 page": 40,
    "watched ADDED": 300,
    "watched MODIFIED": 250,
    "watched DELETED": 12,
}
"""The minimum number of responses and events of each type, for a meaningful comparison."""
LEASE_FLOORS = {
    "200 put": 8,
    "201 put": 5,
    "201 create": 10,
    "409 Conflict": 30,
    "409 create": 20,
    "422 put": 10,
    "422 create": 10,
    "200 delete": 15,
    "watched MODIFIED": 100,
}

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def real() -> Iterator[Real]:
    with ControlPlane(nodes=0, manifests=CRDS) as cluster:
        for name in ("kube-controller-manager", "kube-scheduler"):
            cluster.stop_program(name)
        yield Real(cluster)


def test_the_model_answers_as_the_real_api_server(real: Real) -> None:
    answers: Counter[str] = Counter()

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize="MODEL_EXAMPLES" not in os.environ,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(sequences())
    def compared(steps: list[Step]) -> None:
        _compare(real, steps, answers)

    compared()
    print(sorted(answers.items()))
    rare = {sort: answers[sort] for sort, floor in FLOORS.items() if answers[sort] < floor}
    assert not rare, "too few of these occurred for a meaningful comparison"


def test_the_model_answers_for_leases_as_the_real_api_server(real: Real) -> None:
    answers: Counter[str] = Counter()

    @settings(max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(sequences(of=("Lease",)))
    def compared(steps: list[Step]) -> None:
        _compare(real, steps, answers)

    compared()
    print(sorted(answers.items()))
    rare = {sort: answers[sort] for sort, floor in LEASE_FLOORS.items() if answers[sort] < floor}
    assert not rare, "too few of these occurred for a meaningful comparison"


def _compare(real: Real, steps: list[Step], answers: Counter[str]) -> None:
    namespace = f"model-{next(_numbers)}"
    sides = [Side(real, namespace), Side(Model(), namespace)]
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    starts = []
    for side in sides:
        made = side.server.send(Request("POST", "/api/v1/namespaces", body))
        assert made.status == 201
        starts.append(int(made.body["metadata"]["resourceVersion"]))
    for sort, request in steps:
        found = [side.ask(request) for side in sides]
        plain = [side.plain(answer) for side, answer in zip(sides, found, strict=True)]
        assert plain[1] == plain[0], f"{sort}: {request}\nreal: {found[0].body}\nmodel: {found[1].body}"
        answers[f"{found[0].status} {sort}"] += 1
        answers[_sort(found[0])] += 1
    kinds = {kind for kind, path in PATHS.items() for _, request in steps if request.path.startswith(path)}
    _compare_watches(sides, starts, kinds, answers)


def _sort(answer: Response) -> str:
    reason = answer.body.get("reason", "") if answer.body.get("kind") == "Status" else ""
    causes = (answer.body.get("details") or {}).get("causes") or [{}]
    return " ".join(
        part for part in (str(answer.status), reason, causes[0].get("reason", "") if reason else "") if part
    )


def _compare_watches(sides: list[Side], starts: list[int], kinds: set[str], answers: Counter[str]) -> None:
    """Compare the events of a watch of a kind from its beginning, with and without a selector."""
    for kind in sorted(kinds):
        for side in sides:
            made = side.ask(Request("POST", PATHS[kind], manifest_of(kind, "last")))
            assert made.status == 201, made.body
        for selector in ("", "x=1"):
            told = []
            for side, start in zip(sides, starts, strict=True):
                path = PATHS[kind].replace("{}", side.namespace)
                events = side.server.watch(path, start, selector, "last")
                told.append([(change, side.plain_object(obj)) for change, obj in events])
            assert told[1] == told[0], (kind, selector)
            answers.update(f"watched {change}" for change, _ in told[0])
