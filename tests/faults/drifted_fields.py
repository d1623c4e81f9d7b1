"""Each field that the operator owns in a child is changed or removed by another writer: the body of tests of F13."""

import dataclasses

from fault_engine.drift import edit, places
from fault_engine.objects import Object
from fault_engine.play import Played
from fault_engine.run import Case
from fault_engine.script import Edit, Script, Settle


def drift_of_each_field(case: Case, resource: str, created: Script, operation: str, least: int) -> None:
    """Change (`replace`) or remove (`remove`) each field alone, and, if changed, all together.

    `created` creates the WebApp and settles. The API server must accept at least `least` edits.
    """
    thing = child(case.reference(created), resource)
    found = places(thing, case.workload)
    tried = [place for place in found if not place.skipped]
    singles = [edit(resource, thing, place, operation) for place in tried]
    script = (*created, *(step for single in singles for step in (single, Settle())))
    played = case(script, reference=waiting(case, created, len(singles) + 1))
    refused = {(number - len(created) - 1) // 2 for number in played.refused}
    print(f"{resource}: {operation} {len(tried)} fields, {len(refused)} refused by the API server")
    for place in found:
        if place.skipped:
            print(f"  skipped: {place.path}: {place.skipped}")
    for number in sorted(refused):
        print(f"  refused: {operation} {tried[number].path}")
    assert len(tried) - len(refused) >= least, f"{len(refused)} of {len(tried)} edits were refused"
    changes = [single.patch[0] for number, single in enumerate(singles) if number not in refused]
    if operation == "replace":
        together = Edit(resource, singles[0].name, changes, "json")
        case((*created, together, Settle()), reference=waiting(case, created, 2))


def waiting(case: Case, script: Script, settles: int) -> Played:
    """Return a reference whose final state is repeated for more Settles, because others' writes must leave no trace."""
    reference = case.reference(script)
    states = [*reference.states, *[reference.states[-1]] * (settles - len(reference.states))]
    return dataclasses.replace(reference, states=states)


def child(reference: Played, resource: str) -> Object:
    """Return the only child of the WebApp `web` of a resource at the end of a run."""
    assert reference.evidence is not None
    (found,) = [
        thing
        for thing in reference.evidence.end[resource]
        if thing["metadata"].get("labels", {}).get("coxswain.dev/webapp") == "web"
    ]
    return found
