"""Other managers of a WebApp's children: kubectl with another field manager, and controllers in separate processes."""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cluster.processes import Service as Process
from integration.scene import Scene, eventually

ROOT = Path(__file__).parents[2]
IMAGE = "spec.template.spec.containers[name=app].image"


def image(value: str) -> dict[str, Any]:
    """Return the body that sets a Deployment's image, with the other fields required by an apply."""
    return {"spec": {"template": {"spec": {"containers": [{"name": "app", "image": value}]}}}}


def apply_as(scene: Scene, manager: str, kind: str, body: dict[str, Any], *, force: bool = False) -> None:
    """Let a manager apply a child named web, as `kubectl apply --server-side` does."""
    versions = {"Deployment": "apps/v1", "Service": "v1", "ServiceAccount": "v1"}
    metadata = {**body.get("metadata", {}), "name": "web"}
    thing = {**body, "apiVersion": versions[kind], "kind": kind, "metadata": metadata}
    arguments = ["apply", "--server-side", f"--field-manager={manager}", "-f", "-"]
    scene.kubectl(*arguments, *(["--force-conflicts"] if force else []), input=json.dumps(thing))


def patch_as(scene: Scene, manager: str, kind: str, *operations: dict[str, Any]) -> None:
    """Let a manager change a child by a JSON Patch."""
    patch = json.dumps(operations)
    scene.kubectl("patch", kind, "web", "--type=json", f"--field-manager={manager}", "--patch", patch)


def conflicts(scene: Scene) -> list[tuple[str, str, str, str]]:
    """Return the fields held by other managers, from the status."""
    told = scene.get("webapp").get("status", {}).get("conflicts", [])
    return [(entry["object"], entry["field"], entry["manager"], entry["policy"]) for entry in told]


def drift(scene: Scene) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Return the corrected drift from the status, by object, field and manager."""
    told = scene.get("webapp").get("status", {}).get("drift", [])
    return {(entry["object"], entry["field"], entry["manager"]): entry for entry in told}


def is_true(scene: Scene, condition: str, reason: str = "") -> bool:
    """Return whether a condition is True with this reason."""
    found = scene.condition(condition)
    return found.get("status") == "True" and (not reason or found["reason"] == reason)


def conflicted(scene: Scene, reason: str) -> None:
    """Wait until the WebApp is Conflicted with this reason."""
    eventually(lambda: is_true(scene, "Conflicted", reason), f"Conflicted is True: {reason}")


def not_conflicted(scene: Scene) -> None:
    """Wait until the WebApp is not Conflicted."""
    eventually(lambda: scene.condition("Conflicted").get("status") == "False", "Conflicted is False")
    assert conflicts(scene) == []


def told(scene: Scene, reason: str) -> list[str]:
    """Return the notes of the Events with this reason."""
    return [event["note"] for event in scene.events() if event["reason"] == reason]


def managers(scene: Scene, kind: str, name: str = "web") -> dict[str, Any]:
    """Return fieldsV1 by manager."""
    entries = scene.get(kind, name)["metadata"].get("managedFields", [])
    return {entry["manager"]: entry["fieldsV1"] for entry in entries if entry.get("subresource") != "status"}


def writes(requests: Counter[str]) -> Counter[str]:
    """Return the requests that modify objects."""
    return Counter(
        {asked: count for asked, count in requests.items() if asked.split()[0] not in ("get", "list", "watch")}
    )


class CoWriter:
    """A controller in its own process that repeatedly writes one object."""

    def __init__(self, process: Process) -> None:
        self._process = process

    @property
    def answers(self) -> list[str]:
        """The responses to its writes: `200 <resourceVersion>`, or `409 <message>`."""
        return self._process.log.read_text().splitlines() if self._process.log.exists() else []

    def writes(self, more: int) -> None:
        """Wait until it has written `more` times."""
        goal = len(self.answers) + more

        def done() -> bool:
            self._process.check()
            return len(self.answers) >= goal

        eventually(done, f"{more} more writes by the other controller")


@contextmanager
def co_writer(scene: Scene, manager: str, mode: str, thing: str, body: Any, *, every: float) -> Iterator[CoWriter]:
    """Run a controller that writes a body every few seconds; `{n}` in the body is the number of the write."""
    command = [
        *(sys.executable, "-m", "cluster.co_writer", "--kubeconfig", str(scene.cluster.kubeconfig)),
        *("--ca-file", str(scene.cluster.ca_file), "--namespace", scene.namespace, "--manager", manager),
        *("--mode", mode, "--object", thing, "--every", str(every), "--body", json.dumps(body)),
    ]
    log = scene.cluster.directory / "logs" / f"co-writer-{scene.namespace}-{manager}.log"
    extra = {"PYTHONPATH": str(ROOT / "tests" / "harness"), "PYTHONUNBUFFERED": "1"}
    process = Process(f"co-writer {manager}", command, log=log, home=scene.cluster.directory, extra=extra)
    process.start()
    try:
        yield CoWriter(process)
    finally:
        process.stop()
