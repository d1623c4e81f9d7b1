"""Other writers at work: edits of single fields, one after the other or many at the same time."""

import itertools
import json
import threading
import time
from collections.abc import Mapping
from typing import Any

from pykube import HTTPClient

from cluster import KubectlError
from faults.script import Edit, Probe, Storm
from faults.stand import Stand
from faults.witness import RESOURCES

_TYPES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}

_LOOKS_SECONDS = 0.02
_STORM_SECONDS = 60.0
"""For how long writers may go on after the time of their storm."""


def edit(stand: Stand, step: Edit, client: HTTPClient | None = None) -> str | None:
    """Make an edit; return the server's refusal if it is one that may be.

    Raises:
        HTTPError: it is refused and may not be.
    """
    parameters = {"fieldManager": step.manager, **({"force": "true"} if step.way == "apply" else {})}
    answer = (client or stand.cluster.pykube()).patch(
        version=RESOURCES[step.resource].removeprefix("/apis/").removeprefix("/api/"),
        namespace=stand.namespace,
        url=f"{step.resource}/{step.name}",
        params=parameters,
        headers={"Content-Type": _TYPES[step.way]},
        data=json.dumps(step.patch).replace("{namespace}", stand.namespace),
    )
    if step.refusable and 400 <= answer.status_code < 500:
        return str(answer.json().get("message", answer.status_code))
    answer.raise_for_status()
    return None


def storm(stand: Stand, step: Storm, seconds: float) -> str:
    """Let the writers write for at least so many seconds and rounds; return how much they wrote.

    Raises:
        ExceptionGroup: the writers failed, or did not end.
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
    for thread in threads:
        thread.join(began + seconds + _STORM_SECONDS - time.monotonic())
        if thread.is_alive():
            failed.append(TimeoutError(f"{thread.name} does not end"))
    if failed:
        raise ExceptionGroup("the storm failed", failed)
    stand.edits += sum(written)
    return f"{len(step.writers)} writers wrote {sum(written)} times in {time.monotonic() - began:.1f} s"


class Fighter:
    """Another controller that knows best: whenever a merge patch of its own is undone, it sends it again."""

    def __init__(self, stand: Stand, wanted: Edit) -> None:
        """Begin to fight."""
        self._stand = stand
        self._wanted = wanted
        self._over = threading.Event()
        self._failed: Exception | None = None
        self.written = 0
        self._thread = threading.Thread(target=self._fight, name=f"fighter {wanted.manager}", daemon=True)
        self._thread.start()

    def end(self) -> str:
        """Fight no more; return how often it wrote.

        Raises:
            Exception: what it failed with.
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
    """Return what is missing of what the answer to a dry run should say."""
    try:
        answer = stand.kubectl("create", "-f", "-", "--dry-run=server", "-o", "yaml", object=step.object)
    except KubectlError as error:
        answer = str(error)
    if (step.shows in answer) is step.there:
        return []
    return [f"the API server's answer {'lacks' if step.there else 'still holds'} {step.shows!r}: {answer[:300]}"]
