"""Breaks for F25 and F28 to F31: other operators, namespaces, clocks, connections."""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from coxswain.kernel.cache.coverage import Coverage, View
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Projection, Projector
from coxswain.kernel.workload import Desired
from coxswain.serving import http_server
from coxswain.webapp.children import deployment
from coxswain.webapp.workload import WebAppWorkload
from faults.breaks import broken, put


@broken("another version of the operator, with another progressDeadlineSeconds")
def renders_another_value() -> None:
    def another(*arguments: Any) -> Desired:
        [desired] = deployment.TYPE.all_desired(*arguments)
        spec = {**desired.manifest["spec"], "progressDeadlineSeconds": 1234}
        return replace(desired, manifest={**desired.manifest, "spec": spec})

    types = WebAppWorkload.children
    other = replace(deployment.TYPE, desired=another)
    put(WebAppWorkload, children=tuple(other if each is deployment.TYPE else each for each in types))


@broken("a namespace with a failing LIST blocks all others")
def waits_for_all_namespaces() -> None:
    view = Coverage.view

    def of_all(self: Coverage, namespace: str | None) -> View:
        views = [view(self, each) for each in self._namespaces]
        return view(self, namespace)._replace(settled=all(each.settled for each in views))

    put(Coverage, view=of_all)


@broken("measures delays by the wall clock")
def waits_by_the_time_of_day() -> None:
    put(asyncio.BaseEventLoop, time=lambda _: time.time())


@broken("keeps foreign objects whole and unpacked")
def caches_whole_objects() -> None:
    observe = Projector.observe
    kept: list[Any] = []

    def observe_whole(self: Projector, kind: Kind, raw: Mapping[str, Any]) -> Projection:
        made = observe(self, kind, raw)
        if kind in self.kinds.children and self._is_foreign(made.owned, made.controller, made.adopter):
            kept.append((raw, json.loads(json.dumps(raw))))
        return made

    put(Projector, observe=observe_whole)


@broken("does not limit the number and the duration of connections to the probes")
def keeps_all_connections() -> None:
    put(http_server, CONNECTIONS=100_000, CONNECTION_SECONDS=1e6)
