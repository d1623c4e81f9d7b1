"""Row 8 of the mechanisms: without the watch cache, each watch of a client costs a watch of etcd."""

import json

import pytest

from cluster import ControlPlane
from demo.hub import WATCHES, WRITES, fan_out
from demo.samples import ROOT

pytestmark = pytest.mark.semantics


def test_without_the_watch_cache_each_watch_costs_a_watch_of_etcd() -> None:
    """The opposite of `test_twenty_more_watches_cost_no_watch_of_etcd`, on an API server of its own."""
    crd = ROOT / "crds" / "webapps.yaml"
    with ControlPlane(nodes=0, manifests=[crd], api_server_flags=["--watch-cache=false"]) as cluster:
        webapp = {"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "metadata": {"name": "shop"}}
        cluster.kubectl("apply", "-f", "-", input=json.dumps({**webapp, "spec": {"image": "registry.example/shop:1"}}))
        measured = fan_out(cluster, "default", "shop")
    assert measured.more_clients == measured.more_etcd_watches == WATCHES
    assert measured.received == 0, "there is no cache that could receive events"
    assert measured.sent >= WRITES * WATCHES
