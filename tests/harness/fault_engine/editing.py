"""Other writers: edits of single fields, sequential or concurrent."""

import itertools
import json
import threading
import time
from collections.abc import Mapping
from typing import Any

from pykube import HTTPClient

from cluster import KubectlError
from fault_engine.script import Edit, Probe, Storm
from fault_engine.stand import Stand

_TYPES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}

_LOOKS_SECONDS = 0.02
_WRITE_SECONDS = 60.0
"""The maximum time of one write of a storm, with the pause after it. The time of all depends on the machine."""


def edit(stand: Stand, step: Edit, client: HTTPClient | None = None) -> str | None:
    """Send an edit. Return the server's refusal if the edit is refusable; None after a success.

    Raises:
        HTTPError: the server refuses another edit.
    """
    parameters = {"fieldManager": step.manager, **({"force": "true"} if step.way == "apply" else {})}
    answer = (client or stand.cluster.pykube()).patch(
        version=stand.workload.resources[step.resource].removeprefix("/apis/").removeprefix("/api/"),
        namespace=stand.namespace,
        url=f"{step.resource}/{step.name}",
        params=parameters,
        headers={"Content-Type": _TYPES[step.way]},
        data=json.dumps(step.patch),
    )
    if step.refusable and 400 <= answer.status_code < 500:
        return str(answer.json().get("message", answer.status_code))
    answer.raise_for_status()
    return None


def storm(stand: Stand, step: Storm, seconds: float) -> str:
    """Run the writers for at least `seconds`, and for their rounds. Return a line with the number of writes.

    Raises:
        ExceptionGroup: writers failed, or got stuck.
    """
    began = time.monotonic()
    written: list[int] = [0] * len(step.writers)
    failed: list[Exception] = []

    def write(number: int, edits: tuple[Edit, ...]) -> None:
        client = stand.cluster.pykube()
        try:
            for each in itertools.cycle(edits):
                edit(stand, each, client)
                written[number] += 1
                enough = written[number] >= step.rounds * len(edits) and time.monotonic() - began >= seconds
                if written[number] % len(edits) == 0 and enough:
                    return
                time.sleep(step.every)
        except Exception as error:  # noqa: BLE001 - raised below, in the thread that waits
            failed.append(error)

    threads = [
        threading.Thread(target=write, args=(number, edits), name=f"writer {number}", daemon=True)
        for number, edits in enumerate(step.writers)
    ]
    for thread in threads:
        thread.start()
    for number, thread in enumerate(threads):
        before = -1
        while thread.is_alive() and written[number] > before:
            before = written[number]
            thread.join(_WRITE_SECONDS)
        if thread.is_alive():
            failed.append(TimeoutError(f"{thread.name} is stuck after {before} writes"))
    if failed:
        raise ExceptionGroup("the storm failed", failed)
    stand.edits += sum(written)
    return f"{len(step.writers)} writers sent {sum(written)} writes in {time.monotonic() - began:.1f} s"


class Fighter:
    """Another controller that enforces a value: it repeats its merge patch whenever another writer undoes it."""

    def __init__(self, stand: Stand, wanted: Edit) -> None:
        """Start the fight."""
        self._stand = stand
        self._wanted = wanted
        self._over = threading.Event()
        self._failed: Exception | None = None
        self.written = 0
        self._thread = threading.Thread(target=self._fight, name=f"fighter {wanted.manager}", daemon=True)
        self._thread.start()

    def end(self) -> str:
        """End the fight, and return a line with the number of writes.

        Raises:
            Exception: the error that ended the fight early.
        """
        self._over.set()
        self._thread.join(30)
        if self._failed is not None:
            raise self._failed
        return f"{self._wanted.manager} set {self._wanted.resource}/{self._wanted.name} {self.written} times"

    def _fight(self) -> None:
        client = self._stand.cluster.pykube()
        try:
            while not self._over.wait(_LOOKS_SECONDS):
                found = self._stand.witness.latest(self._wanted.resource, self._wanted.name)
                if found is not None and not holds(found, self._wanted.patch):
                    edit(self._stand, self._wanted, client)
                    self.written += 1
        except Exception as error:  # noqa: BLE001 - raised in the thread that ends the fight
            self._failed = error


def holds(live: Any, patch: Any) -> bool:
    """Tell whether a merge patch would change nothing."""
    if isinstance(live, Mapping) and isinstance(patch, Mapping):
        return all(holds(live.get(key), value) for key, value in patch.items())
    return bool(live == patch)


def probe(stand: Stand, step: Probe) -> list[str]:
    """Return a sentence if the response to a dry run lacks the expected text, or still has the unexpected one."""
    try:
        answer = stand.kubectl("create", "-f", "-", "--dry-run=server", "-o", "yaml", object=step.object)
    except KubectlError as error:
        answer = str(error)
    if (step.shows in answer) is step.there:
        return []
    return [f"the API server's response {'lacks' if step.there else 'still contains'} {step.shows!r}: {answer[:300]}"]
