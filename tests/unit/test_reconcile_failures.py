"""Failures of single requests: retries, the status and Events, and the effect on other children."""

import dataclasses
from typing import Any

import pytest

from coxswain.kernel.api.errors import NotLeading, OutOfDate, RequestFailed, ShuttingDown, Undecodable, Unreachable
from coxswain.kernel.cache.store import Key
from coxswain.kernel.objects.field_paths import ManagedFieldsEntry
from coxswain.kernel.objects.projection import Controller
from coxswain.webapp.identity import WEBAPP_LABEL
from coxswain.webapp.kinds import CONFIG_MAP, DEPLOYMENT, SERVICE_ACCOUNT
from rendered import desired, webapp_of
from unit.bench import WEB, Bench
from unit.objects import observed_child
from unit.server import refusal

ALL = ["create ServiceAccount", "create ConfigMap", "create Service", "create Deployment", "status"]


@pytest.fixture
def bench() -> Bench:
    """Return a bench without any object."""
    return Bench()


DENIED = "services \"web\" is forbidden: ValidatingAdmissionPolicy 'x' with binding 'y' denied request: not yet"


def test_a_denial_by_admission_is_reported_and_retried(bench: Bench) -> None:
    bench.writer.fail("create Service", refusal(422, DENIED, causes=[{"message": DENIED}]))
    bench.webapp()
    assert bench.run().failed is not None
    assert bench.writer.sent == ALL
    assert bench.conditions()["Ready"] == ("False", "AdmissionDenied")
    assert bench.conditions()["Stalled"] == ("False", "NotStalled")
    assert "not yet. The operator retries with backoff" in bench.events.told[0].note
    bench.now += 0.25
    bench.run(failures=1)
    assert bench.writer.sent == ["create Service"], "the status is unchanged"
    bench.now += 0.25
    del bench.writer.answers["create Service"]
    assert bench.run(failures=2).failed is None
    bench.roll_out()
    bench.run()
    assert bench.conditions()["Ready"] == ("True", "Ready")


PASSING = [
    Unreachable("PATCH: TimeoutError"),
    Undecodable("a response with status 200 is not a JSON object"),
    refusal(500),
    refusal(404),
    refusal(409),
    refusal(422, causes=[{"field": "metadata.uid"}]),
]


def fail_update(bench: Bench, error: RequestFailed) -> None:
    """Fail the update of the Deployment; its live object stays unchanged."""
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    bench.writer.fail("update Deployment", error)
    bench.writer.answer("look Deployment", live)


@pytest.mark.parametrize("error", PASSING)
def test_a_short_failure_is_retried_and_not_reported(bench: Bench, error: RequestFailed) -> None:
    bench.converge()
    fail_update(bench, error)
    bench.webapp(version=500, generation=2, image="registry.example/web:2")
    for failures in range(3):
        assert bench.run(failures=failures).failed is error
        assert "status" not in bench.writer.sent
        bench.now += 0.25
    assert bench.events.told == []
    del bench.writer.answers["update Deployment"]
    assert bench.run(failures=3).failed is None
    assert bench.writer.sent[0] == "update Deployment"
    bench.roll_out()
    bench.run()
    assert bench.conditions()["Ready"] == ("True", "Ready")
    assert bench.events.told == []


REASONS = ["NoAnswer", "UnreadableAnswer", *["Refused"] * 4]


@pytest.mark.parametrize(("error", "reason"), list(zip(PASSING, REASONS, strict=True)))
def test_a_lasting_failure_is_reported_in_status_and_event(bench: Bench, error: RequestFailed, reason: str) -> None:
    """K7: only refusals were reported, so Ready stayed True forever."""
    bench.converge()
    fail_update(bench, error)
    bench.webapp(version=500, generation=2, image="registry.example/web:2")
    for failures in range(4):
        bench.now += 0.25
        assert bench.run(failures=failures).failed is not None
    assert bench.conditions()["Ready"] == ("False", reason)
    assert bench.conditions()["Stalled"] == ("False", "NotStalled")
    assert [told.reason for told in bench.events.told] == [reason]
    assert "The operator retries" in bench.events.told[0].note
    bench.run(failures=4)
    assert "status" not in bench.writer.sent


@pytest.mark.parametrize("failing", ["create ServiceAccount", "create ConfigMap", "create Service"])
@pytest.mark.parametrize("error", [Unreachable("reset"), refusal(500), refusal(403), refusal(422)])
def test_a_failing_child_does_not_block_its_siblings(bench: Bench, failing: str, error: RequestFailed) -> None:
    bench.writer.fail(failing, error)
    bench.webapp()
    bench.run()
    assert bench.writer.sent[:3] == ALL[:3]
    assert ("create Deployment" in bench.writer.sent) is (failing == "create Service")
    bench.now += 1
    bench.run(failures=1)
    assert bench.conditions()["Ready"][0] == "False"


def test_a_failure_that_hangs_is_in_the_status_after_a_second(bench: Bench) -> None:
    """A webhook that times out takes 10 s per attempt. The siblings' state does not wait for the fourth attempt."""
    bench.writer.fail("create Service", Unreachable("TimeoutError"))
    bench.webapp()
    assert bench.run().after == 1
    bench.now += 10
    bench.run(failures=1)
    assert "status" in bench.writer.sent
    assert bench.conditions()["Ready"] == ("False", "Retrying")
    assert [told.reason for told in bench.events.told] == ["Created"]


ENDS_ALL = [OutOfDate("gone"), ShuttingDown("the operator is shutting down"), NotLeading("this process does not lead")]


@pytest.mark.parametrize("error", ENDS_ALL)
def test_a_failure_of_the_server_ends_the_reconcile(bench: Bench, error: RequestFailed) -> None:
    bench.writer.fail("create ServiceAccount", error)
    bench.webapp()
    with pytest.raises(type(error)):
        bench.run()
    assert bench.writer.sent == ["create ServiceAccount"]


def test_a_server_outage_writes_no_status_and_no_event(bench: Bench) -> None:
    bench.converge()
    for request in ("update Deployment", "status", "look WebApp"):
        bench.writer.fail(request, Unreachable("refused"))
    bench.webapp(version=500, generation=2, image="registry.example/web:2")
    for failures in range(3):
        bench.run(failures=failures)
        bench.now += 0.25
    with pytest.raises(Unreachable):
        bench.run(failures=3)
    bench.writer.answers.clear()
    bench.events.told.clear()
    bench.now += 1.2
    assert bench.run(failures=4).failed is None
    bench.roll_out()
    bench.run()
    assert bench.events.told == []
    assert bench.conditions()["Ready"] == ("True", "Ready")


def unwanted_config(bench: Bench) -> None:
    """Roll out a new ConfigMap, so that the DELETE of the old one is due."""
    bench.converge()
    bench.webapp(version=500, generation=2, config={"A": "2"}, rollout={"revisionHistoryLimit": 0})
    bench.run()
    bench.roll_out()


@pytest.mark.parametrize(
    "error", [refusal(403, "no deletes"), refusal(422, 'admission webhook "x" denied the request: no deletes')]
)
def test_a_refused_removal_affects_one_child_only(bench: Bench, error: RequestFailed) -> None:
    """K3: the status stayed at RollingOut forever, without an Event."""
    unwanted_config(bench)
    bench.writer.fail("remove ConfigMap", error)
    assert bench.run().failed is error
    assert bench.conditions()["Ready"] == ("False", "NotRemoved")
    assert bench.conditions()["Available"][0] == "True"
    assert [told.reason for told in bench.events.told] == ["NotRemoved"]
    assert "no deletes. The operator retries with backoff" in bench.events.told[0].note
    bench.run(failures=1)
    assert bench.writer.sent == ["remove ConfigMap"]
    bench.writer.answers.clear()
    bench.now += 0.1
    bench.run(failures=2)
    assert bench.conditions()["Ready"] == ("True", "Ready")


@pytest.mark.parametrize("error", [Unreachable("TimeoutError"), refusal(500), refusal(409)])
def test_a_removal_that_fails_is_reported_when_it_lasts(bench: Bench, error: RequestFailed) -> None:
    unwanted_config(bench)
    bench.writer.fail("remove ConfigMap", error)
    for failures in range(3):
        assert bench.run(failures=failures).failed is error
        bench.now += 1
    assert bench.events.told == []
    bench.run(failures=3)
    assert bench.conditions()["Ready"] == ("False", "NotRemoved")


def account_of_others(bench: Bench, **spec: Any) -> None:
    """Converge, and set an annotation of the ServiceAccount as another manager."""
    bench.webapp(serviceAccount={"create": True, "annotations": {"role": "a"}}, **spec)
    bench.run()
    bench.roll_out()
    bench.run()
    account = bench.store.get(SERVICE_ACCOUNT, WEB)
    assert account is not None
    assert account.owned is not None
    metadata = {key: value for key, value in account.owned["f:metadata"].items() if key != "f:annotations"}
    bench.writer.version += 1
    annotated = {**account.content["metadata"], "annotations": {"role": "b"}}
    bench.store.observe(
        dataclasses.replace(
            account,
            version=bench.writer.version,
            content={**account.content, "metadata": annotated},
            owned={**account.owned, "f:metadata": metadata},
            others=(ManagedFieldsEntry("iam", {"f:metadata": {"f:annotations": {"f:role": {}}}}),),
        )
    )
    bench.webapp(
        version=bench.writer.version + 1,
        generation=2,
        image="registry.example/web:2",
        serviceAccount={"create": True, "annotations": {"role": "a"}},
        **spec,
    )


ROLE = ("f:metadata", "f:annotations", "f:role")
HALT = {"policy": "Enforce", "rules": [{"kind": "ServiceAccount", "path": "metadata.annotations", "policy": "Halt"}]}


@pytest.mark.parametrize("why", ["halt", "403", "409", "denied", "no answer", "contested"])
def test_an_existing_child_blocks_no_pods(bench: Bench, why: str) -> None:
    """K4: a problem with an annotation of the ServiceAccount prevented the rollout of a new image."""
    account_of_others(bench, **({"conflicts": HALT} if why == "halt" else {}))
    errors: dict[str, RequestFailed] = {
        "403": refusal(403),
        "409": refusal(409),
        "denied": refusal(422, 'admission webhook "x" denied the request'),
        "no answer": Unreachable("reset"),
    }
    if why in errors:
        bench.writer.fail("update ServiceAccount", errors[why])
    if why == "contested":
        account = desired(webapp_of(bench.webapp_now()))[0]
        for _ in range(5):
            bench.memory.child("ServiceAccount/web").wars.enforced(
                account, [("f:metadata", "f:annotations", "f:role")], 0
            )
    bench.run()
    assert "update Deployment" in bench.writer.sent


@pytest.mark.parametrize("why", ["missing", "foreign", "going", "another content"])
def test_a_missing_child_that_pods_need_blocks_the_deployment(bench: Bench, why: str) -> None:
    bench.converge()
    (config,) = bench.store.objects_of(WEB, CONFIG_MAP)
    place = Key(config.namespace, config.name)
    if why == "missing":
        bench.store.forget(CONFIG_MAP, place, 500)
        bench.writer.fail("create ConfigMap", refusal(403))
    elif why == "foreign":
        bench.store.observe(dataclasses.replace(config, version=500, controller=Controller("Shop", "x", "uid-9")))
    elif why == "going":
        bench.store.observe(dataclasses.replace(config, version=500, terminating=True))
    else:
        bench.store.observe(dataclasses.replace(config, version=500, content={**config.content, "data": {"A": "x"}}))
        for request in ("update ConfigMap", "remove ConfigMap"):
            bench.writer.fail(request, refusal(403))
    bench.webapp(version=600, generation=2, image="registry.example/web:2")
    bench.run()
    assert "update Deployment" not in bench.writer.sent


def test_a_refused_adoption_is_forgotten_with_its_object(bench: Bench) -> None:
    """K14: the refusal was remembered for an absent object, so no child was created after the object's deletion."""
    bench.webapp()
    theirs = observed_child(SERVICE_ACCOUNT, version=20, uid="theirs", label=None)
    metadata = {**theirs.content["metadata"], "annotations": {"coxswain.dev/adopt": "web"}}
    theirs = dataclasses.replace(theirs, content={**theirs.content, "metadata": metadata}, adopter="web")
    bench.writer.fail("create ServiceAccount", refusal(409))
    bench.writer.answer("look ServiceAccount", theirs)
    bench.writer.fail("update ServiceAccount", refusal(422))
    assert bench.run().after == 60
    assert bench.conditions()["Stalled"] == ("True", "Rejected")
    bench.now += 61
    bench.run()
    assert bench.writer.sent == ["look ServiceAccount"], "the refused adoption is not repeated"
    del bench.writer.answers["create ServiceAccount"]
    bench.writer.fail("look ServiceAccount", refusal(404))
    bench.now += 61
    bench.run()
    assert bench.writer.sent[:2] == ["look ServiceAccount", "create ServiceAccount"]


def strip_label(bench: Bench) -> None:
    """Remove our label from the Deployment as someone else. The Deployment thereby leaves the watch."""
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    assert live.owned is not None
    labels = {name: value for name, value in live.content["metadata"]["labels"].items() if name != WEBAPP_LABEL}
    owned = {name: value for name, value in live.owned["f:metadata"].items() if name != "f:labels"}
    kept: dict[str, Any] = {name: {} for name in live.owned["f:metadata"]["f:labels"] if name != f"f:{WEBAPP_LABEL}"}
    bench.writer.version += 1
    stripped = dataclasses.replace(
        live,
        version=bench.writer.version,
        label=None,
        content={**live.content, "metadata": {**live.content["metadata"], "labels": labels}},
        owned={**live.owned, "f:metadata": {**owned, "f:labels": kept}},
    )
    bench.store.forget(DEPLOYMENT, WEB, bench.writer.version)
    bench.writer.fail("create Deployment", refusal(409))
    bench.writer.answer("look Deployment", stripped)


def test_a_contested_label_stays_in_the_written_manifest(bench: Bench) -> None:
    """K9: our label was left to others, and then a change of the image raised KeyError."""
    bench.converge()
    for _ in range(6):
        strip_label(bench)
        bench.now += 5
        bench.run()
    assert bench.conditions()["Contested"] == ("True", "WriteWar")
    assert "update Deployment" not in bench.writer.sent, "a difference of the label alone causes no write"
    newer = bench.webapp(version=bench.writer.version + 1, generation=2, image="registry.example/web:2")
    bench.writer.answer("look WebApp", newer)
    bench.writer.fail("update Deployment", refusal(422, "spec.x: Invalid"))
    bench.run()
    assert bench.conditions()["Stalled"] == ("True", "Rejected")
    assert bench.writer.manifests["Deployment"]["metadata"]["labels"][WEBAPP_LABEL] == "web"
    del bench.writer.answers["update Deployment"]
    bench.reconciler.resynced()
    bench.run()
    assert "update Deployment" in bench.writer.sent
