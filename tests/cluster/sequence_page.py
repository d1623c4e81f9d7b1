"""docs/sequence.md: one run on a throwaway Kubernetes, drawn. `make sequence` writes it anew."""

import json
import sys
import time
from collections.abc import Sequence
from typing import Any

import yaml

from cluster.catalog import KUBERNETES
from cluster.control_plane import ControlPlane
from cluster.operator_process import OperatorProcess
from cluster.samples import ROOT
from cluster.sequence import Step, diagram, steps, table
from cluster.tree import readiness

PAGE = ROOT / "docs" / "sequence.md"
SAMPLE = ROOT / "manifests" / "samples" / "shop.yaml"
NAMESPACE = "sequence"
READY_TIMEOUT_SECONDS = 60.0
POLL_SECONDS = 0.25

_TEXT = """\
# From `kubectl apply` to Ready

*Made by `make sequence` from the API server's audit log: change tests/cluster/sequence_page.py, not this.*

One `kubectl apply` of [manifests/samples/shop.yaml](../manifests/samples/shop.yaml), with one replica so that each
step stands once, on the throwaway Kubernetes {version}. Every participant is a client of the API server and of nothing
else. None calls another, and none knows that the others exist: each sees in its watches that something has changed,
and writes what it has to say about it.

{table}

- **Who and what** are the user and the request of each audit event: all writes in the WebApp's namespace from its
  creation to the last write of its status. Reads and Events are left out. What is made up in each run is written HASH
  and ID.
- **ms** is when the API server received a request, counted from the first.
- **After news of** is inferred, since no log has the events of a watch: the newest write of somebody else, since the
  participant's own last one, to a resource that it acts upon. That its process had opened a watch of it,
  `tests/integration/test_sequence.py` asserts.
- A patch by coxswain is a Server-Side Apply. A 409 is a controller that wrote from an older version than the present
  one, and tried again.
- The pod is [KWOK](https://kwok.sigs.k8s.io)'s: no image is pulled and no container starts, so of the time between
  its binding and its status nothing can be learned.

Solid arrows are the requests of the table, with the same numbers; dotted ones are events of watches.

```mermaid
{diagram}
```

## What to see in it

- Coxswain writes all children in one reconcile. The Deployment is the last, so that its pods find their ConfigMap and
  ServiceAccount; it is held back while one of these can't be had.
- Coxswain makes neither ReplicaSet nor pod nor EndpointSlice, and tells nobody to make them. It has no right to.
- The status goes up as the work goes down: pod, ReplicaSet, Deployment, WebApp; each has one writer.
- What is to be done is in the objects, not in messages. So a participant that is stopped for a while makes the others
  late, and nothing is lost.
"""


def page(found: Sequence[Step]) -> str:
    """Return the page."""
    return _TEXT.format(version=KUBERNETES.version, table="\n".join(table(found)), diagram="\n".join(diagram(found)))


def sample() -> dict[str, Any]:
    """Return the sample with one replica."""
    webapp: dict[str, Any] = yaml.safe_load(SAMPLE.read_text(encoding="utf-8"))
    webapp["spec"]["replicas"] = 1
    return webapp


def record(cluster: ControlPlane, namespace: str) -> list[Step]:
    """Apply the sample in a namespace, wait until it is Ready, and return what was written meanwhile.

    Raises TimeoutError.
    """
    webapp = sample()
    # What every namespace gets is no part of it.
    gifts = ("configmap/kube-root-ca.crt", "serviceaccount/default")
    cluster.kubectl("wait", *gifts, "--for=create", "--timeout=30s", "--namespace", namespace)
    mark = cluster.audit()
    cluster.kubectl("apply", "--namespace", namespace, "-f", "-", input=json.dumps(webapp))
    deadline = time.monotonic() + READY_TIMEOUT_SECONDS
    while True:
        found = cluster.kubectl("get", "webapp", webapp["metadata"]["name"], "--namespace", namespace, "-o", "json")
        name, why = readiness(json.loads(found))
        if why is None:
            return steps(mark.events(), namespace, name)
        if time.monotonic() > deadline:
            raise TimeoutError(f"{name} is not Ready: {why}")
        time.sleep(POLL_SECONDS)


def main() -> int:
    """Write the page; returns the exit code."""
    crds = sorted((ROOT / "crds").glob("*.yaml"))
    with ControlPlane(manifests=crds, progress=print) as cluster:
        cluster.kubectl("apply", "--kustomize", str(ROOT / "manifests/overlays/out-of-cluster"))
        kubeconfig = cluster.service_account_kubeconfig("coxswain-system", "coxswain")
        operator = OperatorProcess(kubeconfig, cluster.directory / "logs" / "operator.log")
        try:
            operator.start()
            cluster.kubectl("create", "namespace", NAMESPACE)
            text = page(record(cluster, NAMESPACE))
        finally:
            operator.stop()
    PAGE.write_text(text, encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
