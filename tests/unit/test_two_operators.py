"""Two operators of different versions serve one WebApp under the same field manager: their fight ends (K8)."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.workload import ChildType, Desired, World
from coxswain.webapp.kinds import DEPLOYMENT
from coxswain.webapp.spec import WebApp
from coxswain.webapp.workload import WORKLOAD, WebAppWorkload
from unit.bench import WEB, Bench

Rendering = tuple[ChildType[WebApp], ...]


def newer(change: Callable[[Manifest], None]) -> Rendering:
    """Return the children of a version whose Deployment is another one."""
    *others, deployment = WORKLOAD.children

    def desired(webapp: WebApp, world: World) -> Desired | None:
        wanted = deployment.desired(webapp, world)
        if wanted is not None:
            change(wanted.manifest)
        return wanted

    return (*others, replace(deployment, desired=desired))


def one_field_more(deployment: Manifest) -> None:
    deployment["spec"]["minReadySeconds"] = 1


def another_value(deployment: Manifest) -> None:
    deployment["spec"]["template"]["spec"]["containers"][0]["terminationMessagePolicy"] = "File"


def one_item_more(deployment: Manifest) -> None:
    env = deployment["spec"]["template"]["spec"]["containers"][0].setdefault("env", [])
    env.append({"name": "VERSION", "value": "2"})


CHANGES = {"one field more": one_field_more, "another value": another_value, "one item more": one_item_more}


class TwoOperators:
    """Two processes, each with a store of its own; a write of one is news for the other."""

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
        """Let one of them reconcile; return what it sent."""
        bench, rendering = self.operators[name]
        for each, _ in self.operators.values():
            each.now += 0.1
        bench.writer.version = self._version()
        self._monkeypatch.setattr(WebAppWorkload, "children", rendering)
        bench.run()
        self._share(bench)
        return list(bench.writer.sent)

    def turns(self, count: int) -> list[str]:
        """Let them take turns; return what both sent."""
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


def test_their_fight_ends_and_is_told(two: TwoOperators) -> None:
    sent = two.turns(100)
    assert 8 <= sent.count("update Deployment") <= 12
    assert two.turns(100) == [], "while the field is left alone nothing is written"
    notes = [told for bench, _ in two.operators.values() for told in bench.events.told]
    told = [each.note for each in notes if each.reason == "Contested" and "Deployment/web" in each.note]
    assert told
    assert all("a second coxswain operator serves this namespace. Run only one" in note for note in told)


def test_a_new_image_is_rolled_out_and_the_contested_field_is_not_lost(two: TwoOperators) -> None:
    two.turns(100)
    before = two.deployment()
    two.webapp(generation=2, image="registry.example/web:2")
    sent = two.turns(100)
    assert 1 <= sent.count("update Deployment") <= 2
    assert two.deployment() == before.replace("registry.example/web:1", "registry.example/web:2")
    assert two.turns(100) == []
