"""F19: an oversized WebApp, one that changes continuously, and their effect on other WebApps."""

import json
from typing import Any

import pytest

from fault_engine.play import Played
from fault_engine.run import Case
from fault_engine.script import Edit, Script, Settle, Storm, apply, kubectl
from faults.lives import SPEC, webapp

OTHERS = [f"other-{number}" for number in range(10)]
ODD_TEXT = "\u0000\u202e\ufeff\U0001f6a2\u0301 \\ \" ' ${HOME} $(PATH) {{ }} %s \t\n\u2028end".replace("\u0000", "")
HEAVY: dict[str, Any] = {
    **SPEC,
    "replicas": 1,
    "config": {f"NAME_{number}": ODD_TEXT * 8 for number in range(200)},
    "env": [{"name": f"env.{number}-x", "value": ODD_TEXT} for number in range(256)],
    "files": [{"path": f"/etc/heavy/\U0001f6a2-{number}", "content": "x" * 200_000} for number in range(4)],
}
"""The maximum that the schema allows, with unusual characters. Kubernetes accepts its children."""
POISON: dict[str, Any] = {
    **SPEC,
    "replicas": 1,
    "files": [{"path": f"/etc/poison/{number}", "content": "\u00fc" * 130_000} for number in range(5)],
}
"""Valid by the schema, which counts characters. Its ConfigMap exceeds the limit of Kubernetes, which counts bytes."""


CHANGES = 100
"""The number of changes of the others that a p99 needs."""
LATE_SECONDS = 2.0
"""The tolerated rise of the others' p99 above twice its value without the heavy WebApp. The heavy diff blocks the event
loop for parts of a second."""
LATE_FACTOR = 4
"""The tolerated factor on a busy machine, where these parts of a second grow with everything else: 3.0 was measured at
a load of 7 on two cores."""


def server_side(thing: dict[str, Any]) -> Any:
    """Return the step of an apply without the last-applied annotation, which would repeat the whole object."""
    return kubectl("apply", "--server-side", "-f", "-", object=thing)


def small(name: str) -> dict[str, Any]:
    return webapp({**SPEC, "replicas": 1}, name)


def edits(name: str, counts: tuple[int, ...]) -> tuple[Edit, ...]:
    spec = [{"spec": {"replicas": count}} for count in counts]
    return tuple(Edit("webapps", name, each, manager="kubectl-client-side-apply") for each in spec)


def busy(*hot: Edit) -> Storm:
    """Return a storm in which each other WebApp is scaled now and then, beside a hot one, ten times a second."""
    others = [tuple(edit for edit in edits(name, (2, 1)) for _ in range(5)) for name in OTHERS]
    return Storm((*([hot * 5] if hot else []), *others), table=60, every=0.1, rounds=6)


def latencies(played: Played) -> list[float]:
    """Return the sorted delays, in seconds, until the Deployment followed each generation of the others."""
    assert played.evidence is not None
    waiting: dict[str, list[tuple[float, int]]] = {name: [] for name in OTHERS}
    generations: dict[str, int] = {}
    found: list[float] = []
    for change in played.evidence.changes:
        if change.name not in waiting or change.resource not in ("webapps", "deployments"):
            continue
        begun, count = waiting[change.name], change.object["spec"]["replicas"]
        if change.resource == "webapps":
            generation = change.object["metadata"]["generation"]
            if generations.get(change.name) != generation:
                begun.append((change.at, count))
            generations[change.name] = generation
        else:
            # A generation superseded in the meantime counts until the Deployment follows its successor.
            followed = max((number for number, (_, wanted) in enumerate(begun, 1) if wanted == count), default=0)
            found += [change.at - at for at, _ in begun[:followed]]
            del begun[:followed]
    return sorted(found)


def p99(sorted_values: list[float]) -> float:
    return sorted_values[min(len(sorted_values) - 1, int(len(sorted_values) * 0.99))]


def bound(calm: float) -> float:
    """Return the maximum p99 of the others beside a heavy and a hot WebApp, from their p99 without."""
    return max(2 * calm + LATE_SECONDS, LATE_FACTOR * calm)


@pytest.mark.fault(
    "F19",
    "a WebApp of nearly 1 MB, one refused for its size, and one with ten changes a second, beside ten others",
    oracles=("O1", "O3", "O4", "O6", "O7"),
    broken="reconciles-one-by-one",
)
def test_poison_and_hot(case: Case) -> None:
    plain: Script = tuple(apply(small(name)) for name in OTHERS)
    poison = (server_side(webapp(HEAVY, "heavy")), server_side(webapp(POISON, "poison")))
    loaded = (*poison, *plain, apply(small("hot")))
    hot = edits("hot", (2, 1))
    ill = case((*loaded, busy(*hot), Settle()), reference=case.reference((*loaded, Settle())))
    print(*ill.report)
    if case.broken:
        return
    well = case((*plain, busy(), Settle()), reference=case.reference((*plain, Settle())))
    calm, disturbed = latencies(well), latencies(ill)
    print(f"p99 without: {p99(calm):.3f} s of {len(calm)}; with: {p99(disturbed):.3f} s of {len(disturbed)}")
    print(f"F19: the p99 of the others rises to {p99(disturbed) / p99(calm):.2f} times; refused bytes:", end=" ")
    print(len(json.dumps(HEAVY)), len(json.dumps(POISON, ensure_ascii=False).encode()))
    assert min(len(calm), len(disturbed)) >= CHANGES, "too few changes for a p99"
    assert p99(disturbed) <= bound(p99(calm)), "the others waited for the heavy and the hot one"
