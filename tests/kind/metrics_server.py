"""The real metrics-server in the kind cluster: its image, made of a static program, and its objects."""

import tarfile
import tempfile
from pathlib import Path

from cluster.catalog import METRICS_SERVER_PROGRAM
from cluster.kind.kind_cluster import KindCluster
from cluster.programs import cache_programs
from cluster.progress import Progress

IMAGE = "coxswain-test/metrics-server:v1"
MANIFESTS = Path(__file__).with_suffix(".yaml")
READY_SECONDS = 120


def install(cluster: KindCluster, progress: Progress) -> None:
    """Build the image, load it, and apply the objects.

    Raises:
        ProgramMissingError: metrics-server could not be built.
    """
    program = cache_programs([METRICS_SERVER_PROGRAM], progress)[METRICS_SERVER_PROGRAM.name].path
    with tempfile.TemporaryDirectory(prefix="coxswain-metrics-server-") as scratch:
        tree = Path(scratch) / "tree.tar"
        with tarfile.open(tree, "w") as files:
            files.add(program, "metrics-server")
        cluster.engine.import_tree(tree, IMAGE, "USER 65532:65532", 'ENTRYPOINT ["/metrics-server"]')
    cluster.load(IMAGE)
    cluster.kubectl("apply", "-f", str(MANIFESTS))


def wait_until_available(cluster: KindCluster) -> None:
    """Wait until the metrics API answers.

    Raises:
        KubectlError: it does not in time.
    """
    options = ("--for=condition=Available", f"--timeout={READY_SECONDS}s")
    cluster.kubectl("wait", "apiservice/v1beta1.metrics.k8s.io", *options, timeout_seconds=READY_SECONDS + 30)
