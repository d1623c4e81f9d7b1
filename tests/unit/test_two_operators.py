"""Two operator versions reconcile one WebApp with the same field manager: their write war ends (K8)."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.workload import ChildType, Desired, World
from coxswain.webapp.children import deployment
from coxswain.webapp.kinds import DEPLOYMENT
from coxswain.webapp.spec import WebApp
from coxswain.webapp.workload import WORKLOAD, WebAppWorkload
from unit.bench import WEB, Bench

pytestmark = pytest.mark.thorough

Rendering = tuple[ChildType[WebApp], ...]


def newer(change: Callable[[Manifest], None]) -> Rendering:
    """Return the child types of a version with another desired Deployment."""

    def desired(webapp: WebApp, world: World) -> Desired:
        [wanted] = deployment.TYPE.all_desired(webapp, world)
        change(wanted.manifest)
        return wanted

    other = replace(deployment.TYPE, desired=desired)
    return tuple(other if each is deployment.TYPE else each for each in WORKLOAD.children)


def one_field_more(deployment: Manifest) -> None:
    deployment["spec"]["minReadySeconds"] = 1


def another_value(deployment: Manifest) -> None:
    deployment["spec"]["template"]["spec"]["containers"][0]["terminationMessagePolicy"] = "File"


def one_item_more(deployment: Manifest) -> None:
    env = deployment["spec"]["template"]["spec"]["containers"][0].setdefault("env", [])
    env.append({"name": "VERSION", "value": "2"})


CHANGES = {"one field more": one_field_more, "another value": another_value, "one item more": one_item_more}

ENOUGH = 50
"""Turns of each operator. The write war takes 39 of them, and the rollout of an image during it 30."""
QUIET = 15
"""Turns of each operator without a write, after which the pause of the contested field is proven: 3 seconds."""


class TwoOperators:
    """Two processes, each with its own store. Each write of one is an event for the other."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, change: Callable[[Manifest], None]) -> None:
        self.operators = {"plain": (Bench(), WORKLOAD.children), "newer": (Bench(), newer(change))}
        self._monkeypatch = monkeypatch
        plain, other = (bench for bench, _ in self.operators.values())
        other.writer.answers["look WebApp"] = other.webapp_now
        plain.writer.answers["look WebApp"] = plain.webapp_now
        self.webapp(image="registry.example/web:1")

    def webapp(self, *, generation: int = 1, **spec: Any) -> None:
        bench, _ = self.operators["plain"]
        bench.webapp(version=self._version() + 10, generation=generation, **spec)
        self._share(bench)

    def turn(self, name: str) -> list[str]:
        """Reconcile with one operator. Return its requests."""
        bench, rendering = self.operators[name]
        for each, _ in self.operators.values():
            each.now += 0.1
        bench.writer.version = self._version()
        self._monkeypatch.setattr(WebAppWorkload, "children", rendering)
        bench.run()
        self._share(bench)
        return list(bench.writer.sent)

    def turns(self, count: int) -> list[str]:
        """Alternate the two operators. Return the requests of both."""
        return [sent for _ in range(count) for name in ("newer", "plain") for sent in self.turn(name)]

    def deployment(self) -> str:
        live = self.operators["plain"][0].store.get(DEPLOYMENT, WEB)
        assert live is not None
        return json.dumps(live.content)

    def _version(self) -> int:
        return max(bench.writer.version for bench, _ in self.operators.values())

    def _share(self, bench: Bench) -> None:
        objects = [bench.store.parent(WEB), *bench.children()]
        for other, _ in self.operators.values():
            for found in objects:
                if other is not bench and found is not None:
                    other.store.observe(found)


@pytest.fixture(params=CHANGES)
def two(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> TwoOperators:
    return TwoOperators(monkeypatch, CHANGES[request.param])


def test_their_write_war_ends_in_a_suspension_and_a_new_image_is_still_rolled_out(two: TwoOperators) -> None:
    sent = two.turns(ENOUGH)
    assert 8 <= sent.count("update Deployment") <= 12
    assert two.turns(QUIET) == [], "while the enforcement is suspended nothing is written"
    notes = [told for bench, _ in two.operators.values() for told in bench.events.told]
    told = [each.note for each in notes if each.reason == "Contested" and "Deployment/web" in each.note]
    assert told
    assert all(
        "a second operator with the field manager coxswain serves this namespace. Run only one" in note for note in told
    )
    before = two.deployment()
    two.webapp(generation=2, image="registry.example/web:2")
    sent = two.turns(ENOUGH)
    assert 1 <= sent.count("update Deployment") <= 2
    assert two.deployment() == before.replace("registry.example/web:1", "registry.example/web:2"), "no field is lost"
    assert two.turns(QUIET) == []
