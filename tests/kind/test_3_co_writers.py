"""Other writers of a WebApp's children, with real pods under load: autoscaler, another manager, adoption."""

import json
from typing import Any

from coxswain.webapp.spec import WebApp
from integration.scene import eventually
from kind.client import Client
from kind.images import V1, V2
from kind.namespace import Namespace, spec
from kind.timings import Timings
from rendered import desired

IMAGE = "spec.template.spec.containers[name=app].image"


def replicas(namespace: Namespace) -> int:
    return int(namespace.get("deployment", "web")["spec"]["replicas"])


def test_an_autoscaler_takes_the_replicas_and_they_come_back(
    namespace: Namespace, client: Client, timings: Timings
) -> None:
    namespace.apply_ready(spec(replicas=2))
    first = namespace.pods()
    with client.load(namespace.address()) as load:
        with timings.of("an autoscaler with at least 3 for 2 replicas: to 3 ready pods") as row:
            # It enforces its bounds even without metrics.
            namespace.kubectl("autoscale", "deployment", "web", "--min=3", "--max=5", "--cpu=50%")
            namespace.wait("jsonpath={.status.readyReplicas}=3", "webapp/web")
        eventually(
            lambda: namespace.get("deployment", "web")["metadata"]["annotations"].get("coxswain.dev/replicas"),
            "the transfer is recorded",
            pause=0.3,
        )
        namespace.kubectl("delete", "hpa", "web")
        eventually(
            lambda: "kept=3" in namespace.get("deployment", "web")["metadata"]["annotations"]["coxswain.dev/replicas"],
            "the count is kept",
            pause=0.3,
        )
        namespace.ready()
        assert replicas(namespace) == 3
        assert first.keys() <= namespace.pods().keys(), "none of the first two pods was deleted"
        namespace.kubectl("scale", "webapp", "web", "--replicas=1")
        eventually(lambda: replicas(namespace) == 1, "spec.replicas applies again", pause=0.3)
        namespace.ready()
    row.load = load.report.unharmed()


def test_a_field_is_left_to_another_manager_that_rolls_it_out(
    namespace: Namespace, client: Client, timings: Timings
) -> None:
    rule = {"kind": "Deployment", "path": IMAGE, "policy": "Yield"}
    namespace.apply_ready(spec(replicas=2, conflicts={"rules": [rule]}))
    rolled_out = timings.of("an image set by another manager, under Yield: to the WebApp Ready")
    with client.load(namespace.address()) as load, rolled_out as row:
        namespace.kubectl("set", "image", "deployment/web", f"app={V2}", "--field-manager=image-updater")
        namespace.wait("condition=Conflicted", "webapp/web")
        namespace.kubectl("rollout", "status", "deployment/web", "--timeout=120s")
        namespace.ready()
    row.load = load.report.unharmed()
    assert client.get(namespace.address()).startswith("v2 ")
    [conflict] = namespace.get("webapp", "web")["status"]["conflicts"]
    assert (conflict["object"], conflict["field"]) == ("Deployment/web", IMAGE)
    assert (conflict["manager"], conflict["policy"]) == ("image-updater", "Yield")
    namespace.kubectl("patch", "webapp", "web", "--type=merge", "-p", json.dumps({"spec": {"conflicts": None}}))
    eventually(lambda: client.get(namespace.address()).startswith("v1 "), "the WebApp's image is back", 120, 1)
    namespace.ready()
    assert namespace.condition("Conflicted")["status"] == "False"


def made_by_hand(namespace: Namespace, wanted: dict[str, Any]) -> list[dict[str, Any]]:
    """Return objects like those that a person might have created before the WebApp."""
    webapp = WebApp(namespace.name, "web", "none", 1, wanted)  # type: ignore[arg-type]
    objects = [child for child in desired(webapp) if child["kind"] in ("Service", "Deployment")]
    for thing in objects:
        del thing["metadata"]["ownerReferences"]
        thing["metadata"]["labels"] = {"by-hand": "yes"}
    template = objects[-1]["spec"]["template"]["spec"]
    template["serviceAccountName"] = "web"
    return objects


def test_hand_made_objects_are_adopted_without_a_pod_restart(
    namespace: Namespace, client: Client, timings: Timings
) -> None:
    wanted = {"imagePullPolicy": "IfNotPresent", **spec(replicas=2)}
    namespace.kubectl("create", "serviceaccount", "web")
    namespace.create(*made_by_hand(namespace, wanted))
    namespace.kubectl("rollout", "status", "deployment/web", "--timeout=120s")
    uids = {pod["metadata"]["uid"] for pod in namespace.pods().values()}
    assert len(uids) == 2
    with client.load(namespace.address()) as load:
        namespace.apply(wanted)
        assert "coxswain.dev/adopt=web" in namespace.not_ready("NameTaken")
        with timings.of("three objects made by hand, annotated: to the WebApp Ready, with the same pods") as row:
            for kind in ("serviceaccount", "deployment", "service"):
                namespace.kubectl("annotate", kind, "web", "coxswain.dev/adopt=web")
            namespace.wait("condition=Ready", "webapp/web", seconds=240)
    row.load = load.report.unharmed()
    assert {pod["metadata"]["uid"] for pod in namespace.pods().values()} == uids
    for kind in ("serviceaccount", "deployment", "service"):
        [owner] = namespace.get(kind, "web")["metadata"]["ownerReferences"]
        assert owner["kind"] == "WebApp"
    assert client.get(namespace.address()).startswith(V1.rpartition(":")[2])
