"""Requests to Envoy, as clients from outside of a cluster send them: one at a time, or constantly."""

import json
import signal
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from cluster.contour import PORTS as ENVOY_PORTS
from cluster.contour import ask
from cluster.processes import Service
from integration.scene import eventually
from kind.client import Report

PORTS = (9100, 9101)
"""The ports of the pods. Envoy has 8080 and 8443 on all addresses, and 9001 for its administration."""
CONNECTIONS = 4


def serves(url: str, webapp: str, ca_file: Path | None = None) -> None:
    """Wait until the pods of a WebApp answer at a URL: the status of a route is written just before Envoy has it."""

    def check() -> bool:
        try:
            status, text = ask(url, ca_file=ca_file)
        except ConnectionError:  # Contour opens a listener with its first route; Envoy resets TLS without a certificate
            return False
        return status == 200 and text.split()[1].startswith(f"{webapp}-")

    eventually(check, f"{url} is served by {webapp}", timeout=15)


@dataclass
class Load:
    """Constant load on a URL while the `with` block runs; then `report` is there.

    Half of the connections are reused, half are new for each request.
    """

    program: Path
    url: str
    log: Path
    _report: Report | None = None
    _service: Service = field(init=False)

    def __post_init__(self) -> None:
        options = [f"--connections={CONNECTIONS}", f"--connect-to=127.0.0.1:{ENVOY_PORTS['http']}"]
        command = [str(self.program), "load", *options, self.url]
        self._service = Service("load", command, log=self.log, home=self.log.parent, grace_seconds=30)

    def __enter__(self) -> Self:
        self._service.start()
        eventually(lambda: self._logged("progress"), f"{self.url} is under load")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._service.stop(signal.SIGTERM)
        if error is None:
            self._report = Report.parse(self._logged("report")[0])

    @property
    def report(self) -> Report:
        """The outcome, when the block has ended."""
        assert self._report is not None, "the load goes on"
        return self._report

    def versions(self) -> set[str]:
        """Return the versions with an answer in the last full second."""
        return set(self._logged("progress")[-1]["versions"])

    def _logged(self, key: str) -> list[dict[str, Any]]:
        lines = self.log.read_text(encoding="utf-8").splitlines(keepends=True)
        found = [json.loads(line) for line in lines if line.startswith("{") and line.endswith("\n")]
        return [each[key] for each in found if key in each]
