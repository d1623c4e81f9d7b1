"""O5 for every field: a status with Ready despite a wrong owned field is found, and excused cases are not."""

from typing import Any

import pytest

from fault_engine.oracles import check
from fault_engine.oracles.owned import owned, wanted
from faults.workloads.webapp import WEBAPP
from unit.faulty_runs import Run, Thing, changed, good

_ENTRY: dict[str, Any] = {
    "f:metadata": {
        "f:labels": {"f:app": {}},
        "f:ownerReferences": {'k:{"uid":"webapps-web-of-1"}': {".": {}, "f:name": {}}},
    },
    "f:spec": {"f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}, "f:name": {}}}},
}


def _service(number: int) -> Thing:
    entry = {"manager": "coxswain", "operation": "Apply", "fieldsV1": _ENTRY}
    text = repr(entry).replace("of-1", f"of-{number}")
    return {"managedFields": [eval(text)]}  # noqa: S307 - what is written above


def _run(namespace: str = "run-1", number: int = 1) -> Run:
    """Return a run whose Service has fields of each type, before the WebApp is Ready."""
    run = good(namespace, number)

    def fill(thing: Thing) -> None:
        thing["metadata"] |= _service(number)
        thing["metadata"]["labels"]["app"] = namespace
        thing["spec"] = {"ports": [{"port": 80, "protocol": "TCP", "name": "http"}]}

    changed(run, "services", "web", fill)
    run.tell("True")
    return run


def found(run: Run) -> list[str]:
    run.now += 20
    run.mark("the end")
    return [violation.what for violation in check(run.evidence(), _run("other", 2).evidence(), ["O5"])]


def _label(thing: Thing) -> None:
    thing["metadata"]["labels"]["app"] = "x"


def _owner(thing: Thing) -> None:
    thing["metadata"]["ownerReferences"][0]["name"] = "x"


def _port(thing: Thing) -> None:
    thing["spec"]["ports"][0]["name"] = "x"


def _no_port(thing: Thing) -> None:
    thing["spec"]["ports"] = []


def test_a_run_like_its_reference() -> None:
    assert found(_run()) == []


@pytest.mark.parametrize("change", [_label, _owner, _port, _no_port])
def test_each_sort_of_field(change: Any) -> None:
    run = _run()
    changed(run, "services", "web", change)
    (sentence,) = found(run)
    assert sentence.startswith("WebApp web has been Ready for more than 15 s; services/web: ")
    assert sentence.endswith("differs from the reference")


def test_a_field_that_is_put_right_in_time() -> None:
    run = _run()
    before = run.there["services", "web"]
    changed(run, "services", "web", _label)
    run.now += 10
    run.store("services", before)
    assert found(run) == []


def test_a_field_of_others_is_nobodys_business() -> None:
    run = _run()
    changed(run, "services", "web", lambda thing: thing["metadata"]["labels"].update(other="x"))
    assert found(run) == []


def test_a_status_that_tells_of_the_conflict() -> None:
    run = _run()
    changed(run, "webapps", "web", lambda thing: thing["status"].update(conflicts=[{"field": "metadata.labels.app"}]))
    changed(run, "services", "web", _label)
    assert found(run) == []


def test_a_status_that_does_not_say_ready() -> None:
    run = _run()
    changed(run, "services", "web", _label)
    run.tell("False")
    assert found(run) == []


def test_a_spec_that_the_reference_never_had_is_not_judged() -> None:
    run = _run()
    changed(run, "webapps", "web", lambda thing: thing["spec"].update(image="web:9"))
    changed(run, "services", "web", _label)
    assert not [each for each in found(run) if "differs from the reference" in each]


def test_owned_fields_are_those_of_the_entry() -> None:
    run = _run()
    paths = {" ".join(path) for path, _value in owned(run.there["services", "web"], WEBAPP)}
    assert len(paths) == 4
    assert "f:metadata f:labels f:app" in paths


def test_a_child_that_arrives_before_its_edited_parent_belongs_to_the_new_spec() -> None:
    reference = _run("other", 2)
    changed(reference, "webapps", "web", lambda thing: thing["spec"].update(image="web:2"))
    changed(reference, "services", "web", _port)
    reference.changes.append(reference.changes.pop(-2))
    assert [change.resource for change in reference.changes[-2:]] == ["services", "webapps"]
    expected = wanted(reference.evidence())
    (original,) = (found for (_name, spec), found in expected.items() if "web:1" in spec)
    names = [value for path, value in original["services", "web"].items() if path[-1] == "f:name" and "f:ports" in path]
    assert names == ["http"]
