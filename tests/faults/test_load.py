"""F19: a WebApp that is too much, one that changes without end, and what the others notice of it."""

import json
from typing import Any

import pytest

from faults.lives import SPEC, webapp
from faults.play import Played
from faults.run import Case
from faults.script import Edit, Script, Settle, Storm, apply, kubectl

OTHERS = [f"other-{number}" for number in range(10)]
ODD_TEXT = "\u0000\u202e\ufeff\U0001f6a2\u0301 \\ \" ' ${HOME} $(PATH) {{ }} %s \t\n\u2028end".replace("\u0000", "")
HEAVY: dict[str, Any] = {
    **SPEC,
    "replicas": 1,
    "config": {f"NAME_{number}": ODD_TEXT * 8 for number in range(200)},
    "env": [{"name": f"env.{number}-x", "value": ODD_TEXT} for number in range(256)],
    "files": [{"path": f"/etc/heavy/\U0001f6a2-{number}", "content": "x" * 200_000} for number in range(4)],
}
"""As much as the schema allows, with what text can hold: Kubernetes takes it."""
POISON: dict[str, Any] = {
    **SPEC,
    "replicas": 1,
    "files": [{"path": f"/etc/poison/{number}", "content": "\u00fc" * 130_000} for number in range(5)],
}
"""Within the schema, which counts characters; its ConfigMap has more bytes than Kubernetes takes."""


CHANGES = 100
"""How many changes of the others a p99 needs."""
LATE_SECONDS = 2.0
"""By how much the others' p99 may rise beyond twice its value without the heavy WebApp, whose comparison takes the main
loop for parts of a second."""


def server_side(thing: dict[str, Any]) -> Any:
    """Return the step of an apply without an annotation that repeats it all."""
    return kubectl("apply", "--server-side", "-f", "-", object=thing)


def small(name: str) -> dict[str, Any]:
    return webapp({**SPEC, "replicas": 1}, name)


def edits(name: str, counts: tuple[int, ...]) -> tuple[Edit, ...]:
    spec = [{"spec": {"replicas": count}} for count in counts]
    return tuple(Edit("webapps", name, each, manager="kubectl-client-side-apply") for each in spec)


def busy(*hot: Edit) -> Storm:
    """Return a storm in which each of the others is scaled now and then, beside a hot one, ten times a second."""
    others = [tuple(edit for edit in edits(name, (2, 1)) for _ in range(5)) for name in OTHERS]
    return Storm((*([hot * 5] if hot else []), *others), table=60, every=0.1, rounds=6)


def latencies(played: Played) -> list[float]:
    """Return, sorted, the seconds until the Deployment followed each generation of the others."""
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
            # A generation that another one superseded in the meantime counts until that one is followed.
            followed = max((number for number, (_, wanted) in enumerate(begun, 1) if wanted == count), default=0)
            found += [change.at - at for at, _ in begun[:followed]]
            del begun[:followed]
    return sorted(found)


def p99(sorted_values: list[float]) -> float:
    return sorted_values[min(len(sorted_values) - 1, int(len(sorted_values) * 0.99))]


@pytest.mark.fault(
    "F19",
    "a WebApp of nearly 1 MB, one that is refused for its size, and one that changes ten times a second, beside ten",
    oracles=("O1", "O3", "O4", "O6", "O7"),
    broken="waits-for-the-poisoned",
)
def test_poison_and_hot(case: Case) -> None:
    plain: Script = tuple(apply(small(name)) for name in OTHERS)
    poison = (server_side(webapp(HEAVY, "heavy")), server_side(webapp(POISON, "poison")))
    loaded = (*poison, *plain, apply(small("hot")))
    hot = edits("hot", (2, 1))
    ill = case((*loaded, busy(*hot), Settle()), reference=case.reference((*loaded, Settle())))
    print(*ill.told)
    if case.broken:
        return
    well = case((*plain, busy(), Settle()), reference=case.reference((*plain, Settle())))
    calm, disturbed = latencies(well), latencies(ill)
    print(
        f"the others, without: p99 {p99(calm):.3f} s of {len(calm)}; with: {p99(disturbed):.3f} s of {len(disturbed)}"
    )
    print(f"F19: their p99 is {p99(disturbed) / p99(calm):.2f} times what it is without; bytes of poison:", end=" ")
    print(len(json.dumps(HEAVY)), len(json.dumps(POISON, ensure_ascii=False).encode()))
    assert min(len(calm), len(disturbed)) >= CHANGES, "too few changes for a p99"
    assert p99(disturbed) <= 2 * p99(calm) + LATE_SECONDS, "the others waited for the heavy and the hot one"
