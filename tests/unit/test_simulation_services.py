"""The simulation of Service types and of restarts after changed data, and operators that break their promises."""

from typing import Any

import pytest

from coxswain.kernel.cache.store import Store
from coxswain.kernel.workload import Desired
from coxswain.webapp import restarts
from coxswain.webapp.children import service, service_kept
from simulation.conditions import Conditions
from simulation.run import Outcome, play
from simulation.script import Script, Step, from_json
from simulation.workloads import workload
from simulation.workloads.webapp.draws_of_services import SHAPES, SIDECARS, VOLUMES, shaped

pytestmark = pytest.mark.thorough

WEB = {"at": "a", "name": "web-0"}
CREATE = Step(2.0, "create", {**WEB, "size": 1, "image": "app:1", "replicas": 1})
DB = {"at": "a", "plural": "secrets", "what": "db"}
NAMED = Step(3.0, "change restartOn", {**WEB, "what": {"restartOn": {"secrets": ["db"]}}})
SECRET = Step(1.0, "change data", DB)


def to(time: float, shape: str, *, allowed: bool = True) -> Step:
    """Return a change of the Service."""
    return Step(time, "change service", {**WEB, "what": shaped(shape, allowed=allowed)})


def played(*steps: Step, **conditions: Any) -> Outcome:
    """Play these steps after the creation of a WebApp."""
    return play(Script(1, "test", Conditions(**conditions), (CREATE, *steps), finale=True))


def restarted(*steps: Step) -> Outcome:
    """Play these steps after the creation of a WebApp that names a Secret."""
    return played(SECRET, NAMED, *steps, metadata=workload("webapp").metadata)


def test_each_shape_of_the_service_follows_each_other() -> None:
    steps = [
        to(30.0 * number, shape) for number, shape in enumerate((*SHAPES, "node port", "alias", "load balancer"), 1)
    ]
    outcome = played(*steps)
    assert outcome.why == ""
    assert outcome.happened["Service became Headless"] == 1
    assert outcome.happened["Service became ExternalName"] == 2
    assert outcome.happened["Service recreated by leave"] == 1, "an alias becomes headless in place"


@pytest.mark.parametrize("end", ["leave", "delete", "nothing"])
def test_without_leave_a_service_stays_until_a_person_acts(end: str) -> None:
    ends = {
        "leave": [to(90.0, "headless")],
        "delete": [Step(90.0, "delete child", {**WEB, "plural": "services"})],
        "nothing": [],
    }
    outcome = played(to(30.0, "headless", allowed=False), *ends[end])
    assert outcome.why == ""
    assert outcome.happened["Service kept without leave"] == 1
    assert outcome.happened["Service became Headless"] == (end != "nothing")


def test_a_node_port_of_others_is_kept() -> None:
    outcome = played(to(30.0, "node port"), Step(60.0, "move node port", WEB), to(90.0, "load balancer"))
    assert outcome.why == ""
    assert outcome.happened["node port of others kept"] == 1


def test_an_alias_has_no_routes_and_a_service_needs_a_port() -> None:
    routes, ports = {"routes": [{"parentRefs": [{"name": "public"}]}]}, {"ports": None}
    steps = [to(30.0, "alias"), Step(40.0, "change", {**WEB, "what": routes}), to(50.0, "headless")]
    outcome = played(*steps, Step(60.0, "change", {**WEB, "what": ports}))
    assert outcome.why == ""
    assert outcome.occurred["change"] == 0


def test_volumes_and_containers_change() -> None:
    outcome = played(
        *(
            Step(30.0 * number, "change containers", {**WEB, "what": {"volumes": volumes, "sidecars": sidecars}})
            for number, (volumes, sidecars) in enumerate(zip(VOLUMES[::-1], SIDECARS[::-1], strict=True), 1)
        )
    )
    assert outcome.why == ""
    assert outcome.occurred["change containers"] == 3


def test_an_operator_that_replaces_a_service_without_leave_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "Desired", lambda manifest, **_: Desired(manifest, replaceable=True))
    outcome = played(to(30.0, "headless", allowed=False))
    assert outcome.invariant == "a Service keeps its address", outcome.why


def test_an_operator_that_forgets_an_adopted_type_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_kept, "_is_half_adopted", lambda *_: False)
    taken = {**WEB, "plural": "services", "label": None, "ours": True, "adopt": True}
    outcome = played(Step(1.0, "take name", taken))
    assert outcome.invariant == "a Service keeps its address", outcome.why


def test_changed_and_recreated_data_restarts_and_a_label_does_not() -> None:
    steps = [
        Step(60.0, "change data", {**DB, "times": 3, "pause": 0.2}),
        Step(90.0, "label object", DB),
        Step(120.0, "recreate object", {**DB, "pause": 20.0}),
    ]
    outcome = restarted(*steps)
    assert outcome.why == ""
    happened = outcome.happened
    assert 1 <= happened["restart after changed data"] <= 2
    assert happened["restart after a recreated object"] == happened["label changed without a restart"] == 1


@pytest.mark.parametrize("verbs", [["watch"], ["list", "watch"]])
def test_data_that_changes_without_the_right_to_watch_it_restarts_later(verbs: list[str]) -> None:
    revoked = Step(60.0, "revoke watch of Secrets", {"verbs": verbs, "seconds": 100.0})
    outcome = restarted(revoked, Step(90.0, "change data", DB))
    assert outcome.why == ""
    assert outcome.happened["restart after changed data"] == 1


def test_an_operator_that_ignores_a_changed_object_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "users", lambda *_: set())
    outcome = restarted(Step(60.0, "change data", DB))
    assert outcome.invariant == "nobody is forgotten", outcome.why
    assert "deployments/web-0 restart secrets/db" in outcome.why


def test_an_operator_that_restarts_for_a_missing_object_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    version = vars(restarts._Referenced)["version"].fget
    monkeypatch.setattr(restarts._Referenced, "version", property(lambda self: version(self) or ""))
    outcome = restarted(Step(60.0, "recreate object", {**DB, "pause": 60.0}))
    assert outcome.invariant == "a restart has a cause", outcome.why


def test_a_script_keeps_the_watched_metadata() -> None:
    script = Script(1, "test", Conditions(metadata=workload("webapp").metadata), (CREATE,))
    assert from_json(script.to_json()) == script
