"""F7: the watch of the metadata of Secrets breaks while the data of one changes: exactly one restart, afterwards."""

import base64
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

import pytest

from fault_engine.history import Request
from fault_engine.plan import Answer, Match, Plan, Rule, Stream
from fault_engine.run import Case
from fault_engine.stand import Stand
from fault_engine.watching import error_event, gap, on_watch
from faults.lives import SPEC, webapp
from faults.test_process import wait

OVERLAY = Path(__file__).parents[2] / "manifests" / "overlays" / "restart-on"
ANNOTATION = "coxswain.dev/restart-on"
OPTIONS = ("--watch-metadata=secrets",)
USERS = {"web": "db", "other": "spare"}
"""WebApps, and the Secret in `restartOn` of each."""


@contextmanager
def restarting(case: Case) -> Iterator[Stand]:
    """Provide an operator that watches Secrets, and WebApps whose pod templates record theirs."""
    with case.stand(options=OPTIONS) as stand:
        stand.kubectl("apply", "-k", str(OVERLAY))
        for secret in USERS.values():
            stand.kubectl("create", "secret", "generic", secret, "--from-literal=password=1")
        stand.operator.start()
        for name, secret in USERS.items():
            stand.kubectl("apply", "-f", "-", object=webapp({**SPEC, "restartOn": {"secrets": [secret]}}, name))
        wait(lambda: all(records(stand, name) for name in USERS), "the records of both Secrets")
        wait(lambda: all(map(stand.workload.settled, stand.end()["webapps"])), "both WebApps are ready")
        assert stand.quiet(3.0, 60.0)
        yield stand


def records(stand: Stand, name: str = "web") -> list[str]:
    """Return all records of a Secret in a pod template so far, without repetitions."""
    templates = [
        change.object["spec"]["template"]["metadata"].get("annotations", {})
        for change in stand.witness.changes()
        if (change.resource, change.name) == ("deployments", name)
    ]
    found = [re.findall(r"=([0-9a-f]{16})", each.get(ANNOTATION, "")) for each in templates]
    return [record for (record, *_), _ in groupby(each for each in found if each)]


def break_watch(stand: Stand, *rules: Rule) -> None:
    """Inject rules, and reset the watch of Secrets so that they apply."""
    stand.inject(Plan(rules))
    stand.proxy.cut("secrets")
    wait(lambda: not stand.not_met(), "the fault meets a request")


def change_data(stand: Stand) -> None:
    """Change the data of the Secret of `web`, as `kubectl edit` does."""
    patch = json.dumps({"data": {"password": base64.b64encode(b"2").decode()}})
    stand.kubectl("patch", "secret", "db", "--type=merge", "--patch", patch, "--field-manager=kubectl-edit")
    stand.proxy.mark("data changed")


def assert_one_restart(case: Case, stand: Stand) -> None:
    """Wait for the restart of `web`; assert that it came once, after the watch was back, and only for `web`."""
    took = wait(lambda: len(records(stand)) > 1, "the restart")
    case.measured.recoveries.append(took)
    assert stand.quiet(5.0, 60.0)
    history = stand.proxy.snapshot()
    begun = next(mark.at for mark in history.marks if mark.what == "faults begin")
    opened = [request.at for request in history.requests if request.at > begun and _is_sound_watch(request)]
    assert opened, "the restart came, but the watch is not back"
    back = opened[0]
    written = [
        request.at - back
        for request in history.writes(begun)
        if (request.resource, request.name) == ("deployments", "web") and request.status == 200
    ]
    print(f"the watch was back after {back - begun:.1f} s; writes of the Deployment since then: {written}")
    assert len(records(stand)) == 2, f"web restarted {len(records(stand)) - 1} times"
    assert len(written) == 1, f"the Deployment was written {len(written)} times"
    assert written[0] > 0, "the restart came before the watch was back"
    others = [each for each in history.writes(begun) if each.name == "other" and each.resource != "webapps/status"]
    assert not others, f"the other WebApp was touched: {others}"
    assert len(records(stand, "other")) == 1


def _is_sound_watch(request: Request) -> bool:
    return (request.verb, request.resource, request.status, request.fault) == ("watch", "secrets", 200, "")


def described(title: str, broken: str) -> pytest.MarkDecorator:
    """Return the mark of a test whose own assertions detect the break."""
    title = f"the watch of Secrets' metadata, {title}, while data changes: one restart"
    return pytest.mark.fault("F7", title, oracles=("O4",), broken=broken, by="test")


@described("410", "no-relist-after-a-restarted-watch")
def test_expired(case: Case) -> None:
    """The change falls into the gap between the watches, so only the relist shows it."""
    with restarting(case) as stand:
        break_watch(stand, *gap("secrets", Stream(inject=(error_event(410, "Expired"),), then="close")))
        change_data(stand)
        stand.lift()
        assert_one_restart(case, stand)


@described("403 for LIST and watch at a start of the operator", "forgets-unseen-objects")
def test_forbidden(case: Case) -> None:
    """The records stay while the operator may not see the Secrets, and the status says so."""

    def reported() -> bool:
        children = [each.get("status", {}).get("children", []) for each in stand.end()["webapps"]]
        return sum("403" in child.get("message", "") for each in children for child in each) == len(USERS)

    with restarting(case) as stand:
        break_watch(stand, Rule(Match("list|watch", "secrets", count=None), Answer(403)))
        stand.do("kill")
        stand.do("start")
        wait(reported, "the status of both WebApps reports 403")
        change_data(stand)
        stand.lift()
        assert_one_restart(case, stand)


@described("open but silent", "ignores-silent-watches")
def test_silent(case: Case) -> None:
    """The operator replaces the watch by itself."""
    with restarting(case) as stand:
        break_watch(stand, on_watch("secrets", Stream(then="freeze")))
        change_data(stand)
        assert_one_restart(case, stand)
        stand.lift()
