"""Row 3 of the mechanisms: packets are lost on the way to the API server, and neither end is told."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from bench.rig import python_path
from bench.webapps import IMAGE, NEXT_IMAGE, webapp
from cluster import ControlPlane
from cluster.lossy_link import LinkUnavailableError, LossyLink
from cluster.processes import Service
from cluster.readiness import wait_until
from coxswain.settings import WatchSettings
from fault_engine.scale import Scale
from fault_engine.workload import Workload
from faults.differences import differences
from faults.scaled_settings import LEAST_SECONDS

pytestmark = pytest.mark.ci

NAMESPACE = "packet-loss"
PATIENCE_SECONDS = 60.0


class Operator:
    """The operator in the namespace at the other end of the link, without resync."""

    def __init__(self, cluster: ControlPlane, workload: Workload, link: LossyLink, folder: Path, scale: Scale) -> None:
        self._cluster, self._patience = cluster, scale.patience(PATIENCE_SECONDS)
        kubeconfig = folder / "kubeconfig.yaml"
        account = cluster.service_account_kubeconfig(*workload.account)
        config = yaml.safe_load(account.read_text(encoding="utf-8"))
        # The certificate of the API server has the address of the loopback interface.
        config["clusters"][0]["cluster"] |= {
            "server": f"https://{link.address}:{link.port}",
            "tls-server-name": "127.0.0.1",
        }
        kubeconfig.write_text(yaml.safe_dump(config), encoding="utf-8")
        options = ["--scale", str(scale.factor), "--never-resync", "--namespace", NAMESPACE, "--log-level", "debug"]
        given = [
            "--kubeconfig",
            str(kubeconfig),
            "--listen",
            "127.0.0.1:0",
            "--metrics-listen=0",
            "--leader-elect=false",
        ]
        command = link.command([sys.executable, "-m", "faults.launch", "--workload", "webapp", *options, *given])
        extra = {"PYTHONPATH": python_path(), "PYTHONUNBUFFERED": "1"}
        self.service = Service("operator", command, log=folder / "operator.log", home=folder, extra=extra)

    def apply(self, image: str) -> None:
        """Apply the WebApp with an image."""
        self._cluster.kubectl("apply", "-f", "-", input=json.dumps(webapp(NAMESPACE, "web", image)))

    def follows(self, image: str) -> bool:
        """Tell whether the children are as a WebApp with this image desires."""
        return not differences(self._cluster, NAMESPACE, "web", image)

    def followed(self, image: str) -> float:
        """Wait until they are; return the seconds."""
        begun = time.monotonic()
        wait_until(f"the children with {image}", lambda: self.follows(image), [self.service], self._patience)
        return time.monotonic() - begun


@pytest.fixture
def link(cluster: ControlPlane) -> Iterator[LossyLink]:
    """The way to the API server."""
    with ExitStack() as stack:
        try:
            found = stack.enter_context(LossyLink(int(cluster.url.rpartition(":")[2])))
        except LinkUnavailableError as error:
            pytest.skip(f"NOT RUN, the loss of packets: {error}")
        yield found


@pytest.fixture
def operator(
    cluster: ControlPlane, workload: Workload, link: LossyLink, tmp_path: Path, scale: Scale
) -> Iterator[Operator]:
    """The operator, with a WebApp whose children are there."""
    cluster.kubectl("create", "namespace", NAMESPACE)
    made = Operator(cluster, workload, link, tmp_path, scale)
    try:
        made.service.start()
        made.apply(IMAGE)
        made.followed(IMAGE)
        yield made
    finally:
        made.service.stop()
        cluster.kubectl("delete", "namespace", NAMESPACE)


@pytest.fixture
def scale(request: pytest.FixtureRequest) -> Scale:
    """The time scale of the suite."""
    return Scale(request.config.getoption("--time-scale"))


@pytest.fixture
def inactivity(scale: Scale) -> float:
    """The seconds without data after which the operator opens a watch again."""
    return scale.seconds(WatchSettings().inactivity_timeout, LEAST_SECONDS["inactivity_timeout"])


def change(operator: Operator, cluster: ControlPlane, image: str = NEXT_IMAGE) -> None:
    """Change the WebApp and delete its Service: two watches have news."""
    operator.apply(image)
    cluster.kubectl("--namespace", NAMESPACE, "delete", "service", "web")


@pytest.mark.parametrize("times_inactivity", [0.2, 2.5], ids=["short", "long"])
def test_every_packet_is_lost_for_a_while(
    operator: Operator, cluster: ControlPlane, link: LossyLink, inactivity: float, times_inactivity: float
) -> None:
    """After a short loss TCP delivers everything late. In a long one the operator gives its connections up."""
    link.lose_packets()
    change(operator, cluster)
    lasted = times_inactivity * inactivity
    time.sleep(lasted)  # the length of the fault
    assert len(differences(cluster, NAMESPACE, "web", NEXT_IMAGE)) == 2, "the operator has heard of a change"
    link.pass_packets()
    took = operator.followed(NEXT_IMAGE)
    print(f"packets lost for {lasted:.1f} s: recovered {took:.1f} s after that")


def test_the_open_connections_lose_every_packet_for_good(
    operator: Operator, cluster: ControlPlane, link: LossyLink, inactivity: float
) -> None:
    """Half-open: the API server and the operator think that the connections live. New ones work at once."""
    link.strand_connections()
    change(operator, cluster)
    took = operator.followed(NEXT_IMAGE)
    print(f"half-open watches noticed and recovered in {took:.1f} s; without data they are opened again after")
    print(f"{inactivity:.1f} s")


def test_a_link_that_cannot_be_made_leaves_nothing_behind(link: LossyLink) -> None:
    """The second one has the address of the first."""
    broken = LossyLink(1)
    broken.address = link.address
    with pytest.raises(OSError, match="assign"), broken:
        pass
    left = subprocess.run(broken.command(["true"]), capture_output=True, check=False)
    assert left.returncode != 0, "the namespace is still there"
