"""The status about other writers: bounded, without secrets, and unchanged while a conflict continues."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import REGISTRY, generate_latest

from coxswain.kernel.cache.store import Key
from coxswain.kernel.conflicts.diff import Difference
from coxswain.kernel.conflicts.managed_fields import ANOTHER_OPERATOR, UNKNOWN
from coxswain.kernel.conflicts.policy import Policies, Policy
from coxswain.kernel.conflicts.write_plan import HeldField, Plan
from coxswain.kernel.reconciling.child.plan_health import planned_health
from coxswain.kernel.reconciling.memory.drift_ledger import DriftLedger
from coxswain.kernel.status.conditions import standard_conditions
from coxswain.kernel.status.conflict_report import COUNT_LIMIT, Conflict, Repair, conflicts, drift, shown
from coxswain.kernel.status.health import HEALTHY, halted
from coxswain.kernel.status.urgency import Urgency
from coxswain.webapp.spec import Status
from coxswain.webapp.status import status
from rendered import observations, urgency
from unit.objects import COMMANDS, webapp

WEB = Key("shop", "web")
ENV = "spec.template.spec.containers[name=app].env[name={}].value"
NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"
REPLICAS = 10
SECOND = (
    "Probable cause: a second operator with the field manager coxswain serves this namespace. Run only one: "
    "kubectl get deployments --all-namespaces -l app.kubernetes.io/name=coxswain"
)


def repair(field: str = "spec.replicas", manager: str = "flux", wanted: Any = 1, found: Any = 2) -> Repair:
    return Repair("Deployment/web", field, manager, wanted, found)


def told(repairs: list[Repair], previous: Status | None = None) -> Status:
    """Return a status with these repairs."""
    return status(webapp(), observations([], repairs=repairs), previous or {}, NOW)


def test_an_entry() -> None:
    assert drift({}, [repair()]) == [
        {
            "object": "Deployment/web",
            "field": "spec.replicas",
            "manager": "flux",
            "wanted": "1",
            "found": "2",
            "count": 1,
        }
    ]


def test_a_repeated_correction_is_counted_with_the_last_value() -> None:
    once = told([repair(), repair("metadata.labels.a")])
    (other, repeated) = drift(once, [repair(found=3), repair(found=4)])
    assert (repeated["count"], repeated["found"], other["count"]) == (3, "4", 1)


def test_another_manager_is_another_entry() -> None:
    assert [entry["manager"] for entry in drift({}, [repair(), repair(manager="helm"), repair()])] == ["helm", "flux"]


def test_a_full_count_changes_no_more_and_costs_no_write() -> None:
    full = told([repair()] * COUNT_LIMIT)
    assert full["drift"][0]["count"] == COUNT_LIMIT
    more = told([repair(found=7)] * 3, full)
    assert more == full
    assert urgency(full, more, REPLICAS) is Urgency.NONE


@given(st.lists(st.builds(repair, st.sampled_from([f"f{number}" for number in range(40)]), st.sampled_from("ab"))))
def test_the_latest_repair_is_the_last_entry_of_the_ledger(repairs: list[Repair]) -> None:
    entries = drift({}, repairs)
    places = [(entry["field"], entry["manager"]) for entry in entries]
    assert len(places) == len(set(places)) <= 20
    latest_first = list(dict.fromkeys((each.field, each.manager) for each in reversed(repairs)))
    assert places == latest_first[:20][::-1]
    assert all(1 <= entry["count"] <= COUNT_LIMIT for entry in entries)
    half = len(repairs) // 2
    assert len(drift(told(repairs[:half]), repairs[half:])) <= 20


def test_the_ledger_is_bounded() -> None:
    entries = drift(told([repair(f"f{number}") for number in range(30)]), [repair("new")])
    assert [entry["field"] for entry in entries] == [*(f"f{number}" for number in range(11, 30)), "new"]


@pytest.mark.parametrize(
    "name",
    [
        *("DB_PASSWORD", "db-passwd", "PGPASSWORD", "PASSPHRASE", "API_KEY", "apikey", "AWS_ACCESS_KEY_ID", "KEY"),
        *("GITHUB_TOKEN", "CLIENT_SECRET", "clientSecret", "GOOGLE_CREDENTIALS", "PRIVATE_KEY", "SENTRY_DSN"),
        *("CONNECTION_STRING", "BASIC_AUTH", "TLS_CERT", "SESSION_COOKIE", "HASH_SALT"),
    ],
)
def test_the_value_of_a_name_like_a_secrets_is_hidden(name: str) -> None:
    assert shown(ENV.format(name), "hunter2") == "(hidden)"
    assert shown(f"metadata.annotations[example.com/{name}]", "hunter2") == "(hidden)"
    assert shown(f"metadata.annotations.{name}", "hunter2") == "(hidden)"
    assert shown(ENV.format(name), None) == "(none)"


@pytest.mark.parametrize(
    "value",
    [
        "postgres://shop:hunter2@db/shop",
        "https://:hunter2@proxy.example",
        "see amqp://a:b@c and more",
        "-----BEGIN RSA PRIVATE KEY-----\nhunter2",
        "host=db user=shop password=hunter2",
        "host=db;Pwd=hunter2",
    ],
)
def test_a_value_that_looks_like_a_secret_is_hidden(value: str) -> None:
    assert shown(ENV.format("URL"), value) == "(hidden)"


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("spec.replicas", 3, "3"),
        ("automountServiceAccountToken", True, "true"),
        ("spec.template.spec.containers[name=app].image", "registry.example:5000/a:1", "registry.example:5000/a:1"),
        (ENV.format("URL"), "https://shop.example:8443/a@b", "https://shop.example:8443/a@b"),
        (ENV.format("MONKEY"), "x", "x"),
        (ENV.format("KEYBOARD"), "x", "x"),
        ("spec.template.spec.containers[name=app].args", ["--password", "x"], "(a list)"),
        (ENV.format("A").removesuffix(".value"), {"name": "A", "value": "x"}, "(a structure)"),
        (ENV.format("A"), "x" * 201, "x" * 200 + " ..."),
    ],
)
def test_values_that_are_shown(field: str, value: Any, text: str) -> None:
    assert shown(field, value) == text


@given(st.text(max_size=2000), st.sampled_from([ENV.format("A"), "spec.replicas", "metadata.labels.a"]))
def test_every_shown_value_fits_the_schema(value: str, field: str) -> None:
    assert len(shown(field, value)) <= 1024


def held(policy: Policy = Policy.YIELD, *, differs: bool = True, field: str = "spec.replicas", **more: Any) -> Conflict:
    return Conflict("Deployment/web", field, more.pop("manager", "flux"), policy, differs=differs, **more)


def test_a_conflicting_field_is_reported_without_values() -> None:
    assert conflicts({}, [held()]) == [
        {"object": "Deployment/web", "field": "spec.replicas", "manager": "flux", "policy": "Yield"}
    ]


def test_an_equal_value_is_reported_only_if_it_was_before() -> None:
    assert conflicts({}, [held(differs=False)]) == []
    previous = status(webapp(), observations([], held=[held()]), {}, NOW)
    assert conflicts(previous, [held(differs=False)]) == previous["conflicts"]
    assert conflicts(previous, []) == []
    assert conflicts(previous, [held(differs=False, manager="helm")]) == []


def test_a_contested_field_is_reported_as_contested_and_not_as_left() -> None:
    assert conflicts({}, [held(Policy.ENFORCE, contested=True)]) == []


def test_the_conflicts_are_in_order_and_bounded() -> None:
    many = [held(field=f"f{number:03}") for number in reversed(range(80))]
    assert [entry["field"] for entry in conflicts({}, many)] == [f"f{number:03}" for number in range(50)]


def conditions(*fields: Conflict, previous: Status | None = None, now: str = NOW) -> dict[str, Any]:
    made = status(webapp(), observations([], held=fields), previous or {}, now)
    return {found["type"]: found for found in made["conditions"]}


def test_conflicted() -> None:
    assert (conditions()["Conflicted"]["status"], conditions()["Conflicted"]["reason"]) == ("False", "NoConflict")
    yielded = conditions(held(), held(field="metadata.labels.a", manager="helm"))["Conflicted"]
    assert (yielded["status"], yielded["reason"]) == ("True", "Yielded")
    assert yielded["message"] == (
        "Deployment/web metadata.labels.a is owned by helm (policy Yield); "
        "Deployment/web spec.replicas is owned by flux (policy Yield). "
        "The operator does not write the field. To enforce the spec, choose Enforce in spec.conflicts: "
        "kubectl edit webapp web -n shop"
    )
    assert conditions(held(), held(Policy.HALT, field="spec.x"))["Conflicted"]["reason"] == "Halted"


def test_contested_names_both_managers() -> None:
    assert conditions(held())["Contested"]["status"] == "False"
    found = conditions(held(Policy.ENFORCE, contested=True))
    assert (found["Contested"]["status"], found["Contested"]["reason"]) == ("True", "WriteWar")
    assert found["Contested"]["message"] == (
        "Deployment/web spec.replicas is overwritten by flux each time coxswain enforces it. "
        "Enforcement is suspended: the operator tries again later. "
        "Stop the other manager from setting the field, or choose Yield in spec.conflicts: "
        "kubectl edit webapp web -n shop"
    )
    assert found["Conflicted"]["status"] == "False"


def test_yield_is_no_advice_against_a_client_that_owns_nothing() -> None:
    """Nobody owns the order of a list, nor a removed field."""
    found = conditions(held(Policy.ENFORCE, contested=True, manager=UNKNOWN))["Contested"]["message"]
    assert "so Yield has no effect. Stop the other client" in found
    assert found.endswith(f"Possible cause: {SECOND.removeprefix('Probable cause: ')}")
    assert "or choose Yield" not in found
    both = (held(Policy.ENFORCE, contested=True), held(Policy.ENFORCE, contested=True, manager=UNKNOWN))
    assert "or choose Yield" in conditions(*both)["Contested"]["message"], "it has an effect on the other one"


def test_a_second_operator_is_the_only_advice_because_yield_has_no_effect_on_it() -> None:
    """`write_plan` knows no other manager of a field that a second operator sets, so its policy is not asked."""
    found = conditions(held(Policy.ENFORCE, contested=True, manager=ANOTHER_OPERATOR))["Contested"]["message"]
    assert found == (
        "Deployment/web spec.replicas is overwritten by another operator each time coxswain enforces it. "
        f"Enforcement is suspended: the operator tries again later. {SECOND}"
    )
    field = HeldField(Difference(("f:spec", "f:replicas"), 1, 2), ANOTHER_OPERATOR, Policy.ENFORCE, contested=True)
    of_child = planned_health(HEALTHY, Plan({}, (), left=(field,)), (), COMMANDS).message
    assert of_child == (
        "another field manager keeps overwriting spec.replicas (another operator). "
        f"Enforcement is suspended: the operator tries again later. {SECOND}"
    )


def test_an_unknown_policy_is_the_only_advice() -> None:
    unknown = Policies("Observe").unknown()
    states = standard_conditions([], [held(Policy.HALT)], {}, COMMANDS, paused=False, unknown_policies=unknown)
    advice = (
        "The operator writes nothing to the object until the conflict ends. Unknown conflict policy: Observe "
        "(spec.conflicts). This version of the operator treats unknown policies as Halt. Upgrade the operator, or "
        "choose Enforce, Yield or Halt: kubectl edit webapp web -n shop"
    )
    assert states["Conflicted"].message == f"Deployment/web spec.replicas is owned by flux (policy Halt). {advice}"
    of_child = halted("spec.replicas (flux)", COMMANDS, unknown).message
    assert of_child == f"another field manager owns spec.replicas (flux), and the policy is Halt. {advice}"
    states = standard_conditions([], [held()], {}, COMMANDS, paused=False, unknown_policies=unknown)
    assert f". The operator does not write the field. {unknown}: kubectl edit" in states["Conflicted"].message


def test_a_continuing_conflict_costs_no_write() -> None:
    before = status(webapp(), observations([], held=[held()]), {}, NOW)
    for now in (held(), held(differs=False), held()):
        after = status(webapp(), observations([], held=[now]), before, LATER)
        assert (after, urgency(before, after, REPLICAS)) == (before, Urgency.NONE)


def test_the_ledger_alone_waits_for_the_next_status_write() -> None:
    before = told([repair()])
    assert urgency(before, told([repair()], before), REPLICAS) is Urgency.DRIFT
    moved: Any = {**told([repair()], before), "replicas": 7}
    assert urgency(before, moved, REPLICAS) is Urgency.COUNTS
    ready: Any = {**moved, "readyReplicas": 7}
    assert urgency(before, ready, REPLICAS) is Urgency.PROGRESS
    newer: Any = {**moved, "observedGeneration": 7}
    assert urgency(before, newer, REPLICAS) is Urgency.NOW
    scaled: Any = {**before, "replicas": 7}
    assert urgency(before, scaled, REPLICAS) is Urgency.COUNTS


def test_corrections_before_their_status_write_are_kept_and_bounded() -> None:
    ledger = DriftLedger()
    ledger.add([repair()])
    ledger.add([repair(found=number) for number in range(2000)])
    assert len(ledger.unreported()) == 500
    assert ledger.unreported()[-1].found == 1999
    ledger.written(ledger.unreported())
    assert ledger.unreported() == ()


def test_manager_names_make_no_time_series() -> None:
    """S8: any tenant can invent field manager names, so /metrics counts by kind alone."""
    ledger = DriftLedger()
    before = _corrected()
    ledger.add([repair(manager=f"m-{number}") for number in range(60)])
    text = generate_latest().decode()
    lines = [line for line in text.splitlines() if line.startswith("coxswain_drift_corrected_total{")]
    assert [line.partition("}")[0] for line in lines if "Deployment" in line] == [
        'coxswain_drift_corrected_total{kind="Deployment"'
    ]
    assert _corrected() - before == 60


def _corrected() -> float:
    return REGISTRY.get_sample_value("coxswain_drift_corrected_total", {"kind": "Deployment"}) or 0.0


def test_the_entries_that_were_last_repaired_stay() -> None:
    reported: Status = {}
    for number in range(20):
        reported = {"drift": drift(reported, [Repair("Deployment/web", f"spec.f{number}", "kubectl", 1, 2)])}
    first, new = (Repair("Deployment/web", field, "kubectl", 1, 2) for field in ("spec.f0", "spec.new"))
    found = drift(reported, [first, new])
    assert [entry["field"] for entry in found] == [
        *(f"spec.f{number}" for number in range(2, 20)),
        "spec.f0",
        "spec.new",
    ]
    assert [entry["count"] for entry in found[-2:]] == [2, 1]
