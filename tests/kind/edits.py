"""A user who edits a WebApp once a second."""

import json
import threading
import time
from types import TracebackType
from typing import Self

from integration.scene import eventually
from kind.namespace import Namespace

_NOTE = "example.com/edit"
APPLIED_SECONDS = 40


class Edits:
    """Edits the Service of a WebApp within the context, and waits at its end until the last edit is applied.

    An edit changes no pod template, so pods keep running.
    """

    def __init__(self, namespace: Namespace, name: str = "web") -> None:
        """Edit the WebApp `name`."""
        self._namespace = namespace
        self._name = name
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"edits of {name}", daemon=True)
        self._failed: Exception | None = None
        self.count = 0
        """The number of accepted edits."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join(60)
        if error is None:
            if self._failed is not None:
                raise self._failed
            what = f"edit {self.count} of {self._name} is applied"
            eventually(lambda: self._applied() == str(self.count), what, timeout=APPLIED_SECONDS, pause=0.3)

    def _applied(self) -> str:
        metadata = self._namespace.get("service", self._name)["metadata"]
        return str(metadata.get("annotations", {}).get(_NOTE))

    def _run(self) -> None:
        try:
            while not self._over.is_set():
                sent = time.monotonic()
                patch = {"spec": {"service": {"annotations": {_NOTE: str(self.count + 1)}}}}
                self._namespace.kubectl("patch", "webapp", self._name, "--type=merge", "--patch", json.dumps(patch))
                self.count += 1
                self._over.wait(max(0.0, sent + 1.0 - time.monotonic()))
        except Exception as error:  # noqa: BLE001 - raised in the thread of the context
            self._failed = error
