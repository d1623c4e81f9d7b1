"""The demo on kind: a cluster with real pods, the operator installed like users do, and WebApps of manifests/samples.

`make kind-demo` runs it. The cluster keeps running: `make kind-down` deletes it.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from cluster.kind.engine import find_engine
from cluster.kind.kind_cluster import DEFAULT_KUBECONFIG, DEFAULT_NAME, KindCluster
from cluster.kind.operator_image import build_operator_image
from cluster.kind.registry import registry_answers
from demo.samples import ROOT, apply_samples, say
from kind.images import V1, build_images
from kind.installation import Installation

SAMPLES = ROOT / "manifests" / "samples"
SAMPLES_REGISTRY = "https://registry.k8s.io/v2/"
TRIALS = (
    ("kubectl get webapps -o wide", "the status, in one line for each WebApp"),
    ("kubectl set image deployment/hello app=registry.invalid/hello:v9", "corrected before a new pod starts"),
    (
        """kubectl patch webapp shop --type=merge -p '{"spec":{"image":"registry.invalid/shop:v9"}}'""",
        "a bad rollout: the old pods keep serving, and the status has the cause",
    ),
    ("kubectl get webapp shop -o yaml", "there: conditions and children"),
    ("kubectl drain coxswain-worker --ignore-daemonsets", "its pods move, and the WebApps become Ready again"),
    ("kubectl -n coxswain-system logs -l app.kubernetes.io/component=operator --prefix", "the operator's log"),
)


def main() -> int:
    """Run the demo and return its exit code."""
    try:
        cluster = KindCluster(find_engine(), DEFAULT_NAME, DEFAULT_KUBECONFIG.absolute(), progress=_indented)
        say("A kind cluster with real nodes in containers. The first time takes minutes.")
        was_up = cluster.exists
        cluster.ensure()
        say("The operator's image, loaded into the nodes:")
        cluster.load(build_operator_image(cluster.engine, os.environ, _indented))
        say("The operator, from manifests/overlays/cluster:")
        operator = Installation(cluster)
        operator.install()
        if was_up:
            operator.restart()
        with _samples(cluster) as samples:
            apply_samples(cluster.kubectl, lambda: None, samples)
    except (RuntimeError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; `make kind-down` deletes the cluster", file=sys.stderr)
        return 130
    _propose(cluster)
    return 0


@contextmanager
def _samples(cluster: KindCluster) -> Iterator[Path]:
    """Return the directory of the samples; if their image cannot be pulled, with a replacement image."""
    if registry_answers(SAMPLES_REGISTRY):
        yield SAMPLES
        return
    say(f"The samples' image cannot be pulled here: {V1} replaces it, a small server of the tests.")
    build_images(cluster.engine, _indented)
    cluster.load(V1)
    build = ROOT / "build"
    build.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="samples-", dir=build) as scratch:
        patch = {
            "apiVersion": "coxswain.dev/v1",
            "kind": "WebApp",
            "metadata": {"name": "any"},
            "spec": {"image": V1, "command": None, "args": ["serve"]},
        }
        kustomization = {
            "resources": [os.path.relpath(SAMPLES, scratch)],
            "patches": [{"target": {"kind": "WebApp"}, "patch": yaml.safe_dump(patch)}],
        }
        (Path(scratch) / "kustomization.yaml").write_text(yaml.safe_dump(kustomization), encoding="utf-8")
        yield Path(scratch)


def _propose(cluster: KindCluster) -> None:
    say("\nTo try it:")
    say(f'  export KUBECONFIG={cluster.kubeconfig} PATH="{cluster.kubectl_program.parent}:$PATH"')
    for command, shows in TRIALS:
        say(f"  {command}\n      {shows}")
    say("The cluster keeps running. To delete it:  make kind-down")


def _indented(line: str) -> None:
    say(f"  {line}")


if __name__ == "__main__":
    sys.exit(main())
