"""Breaks for F25 and F28 to F31: other operators, namespaces, clocks, connections."""

import asyncio
import time
from dataclasses import replace
from typing import Any

from coxswain import probes
from coxswain.kernel.api import client, transport
from coxswain.kernel.cache.coverage import Coverage, View
from coxswain.kernel.objects.projection import Projector
from coxswain.kernel.workload import Desired
from coxswain.webapp.children import configmap
from coxswain.webapp.workload import WebAppWorkload
from faults.breaks import broken, put


@broken("it is an operator of another version: it has another opinion of progressDeadlineSeconds")
def renders_another_value() -> None:
    *others, deployment = WebAppWorkload.children

    def another(*arguments: Any) -> Desired | None:
        desired: Desired | None = deployment.desired(*arguments)
        if desired is None:
            return None
        spec = {**desired.manifest["spec"], "progressDeadlineSeconds": 1234}
        return replace(desired, manifest={**desired.manifest, "spec": spec})

    put(WebAppWorkload, children=(*others, replace(deployment, desired=another)))


@broken("a namespace that can't be listed holds up all others")
def waits_for_all_namespaces() -> None:
    view = Coverage.view

    def of_all(self: Coverage, namespace: str | None) -> View:
        views = [view(self, each) for each in self._namespaces]
        return view(self, namespace)._replace(settled=all(each.settled for each in views))

    put(Coverage, view=of_all)


@broken("delays are waited out by the time of day")
def waits_by_the_time_of_day() -> None:
    put(asyncio.BaseEventLoop, time=lambda _: time.time())


@broken("pages have 500 objects however large, and what others made is kept whole")
def keeps_all_whole() -> None:
    put(client, _PAGE_BYTES=1 << 40, _FIRST_PAGE=500)
    put(transport, _LARGEST_BYTES=1 << 40)
    put(Projector, _is_foreign=staticmethod(lambda *_: False))
    put(configmap, _MANY_KEYS=1 << 40)


@broken("connections to the probes are limited neither in number nor in time")
def keeps_all_connections() -> None:
    put(probes, _CONNECTIONS=100_000, _CONNECTION_SECONDS=1e6)
