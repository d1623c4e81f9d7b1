"""The requests for Leases."""

from collections.abc import Mapping, Sequence
from typing import Any

from coxswain.kernel.api.client import decode
from coxswain.kernel.api.errors import Refused, Undecodable
from coxswain.kernel.api.transport import Transport
from coxswain.kernel.election.lease import LEASE, Lease, parse

SLOT_LABEL = "coxswain.dev/slots-of"
"""Label of the Leases of slots, with the name of the election."""

_JSON = "application/json"
_NOT_A_LEASE = (KeyError, TypeError, AttributeError, ValueError, OverflowError)
"""The errors of parsing another JSON object. A proxy before the API server may answer 200 with an object of its own."""


class LeaseClient:
    """Reads and writes one Lease, without retries.

    It has no throttle: a renewal must wait neither for reconciles nor for a Retry-After, and it is one small request in
    two seconds.
    """

    def __init__(
        self,
        transport: Transport,
        namespace: str,
        name: str,
        *,
        timeout: float,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        """Send requests with `transport`; `timeout` is in seconds for each. Each write sets the labels."""
        self._transport = transport
        self._namespace = namespace
        self._name = name
        self._timeout = timeout
        self._labels = labels

    @property
    def name(self) -> str:
        """The Lease as namespace/name."""
        return f"{self._namespace}/{self._name}"

    async def get(self) -> Lease | None:
        """Return the Lease; None if it does not exist."""
        try:
            return await self._send("GET", LEASE.path(self._namespace, self._name))
        except Refused as error:
            if error.status == 404:
                return None
            raise

    async def create(self, manifest: Mapping[str, Any]) -> Lease:
        """Create the Lease."""
        return await self._send("POST", LEASE.path(self._namespace), self._labelled(manifest))

    async def update(self, manifest: Mapping[str, Any]) -> Lease:
        """Replace the Lease, with the preconditions in its metadata."""
        return await self._send("PUT", LEASE.path(self._namespace, self._name), self._labelled(manifest))

    async def _send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Lease:
        found = await _answer(self._transport, method, path, body=body, timeout=self._timeout)
        try:
            return parse(found)
        except _NOT_A_LEASE as error:
            raise _undecodable("a Lease", found) from error

    def _labelled(self, manifest: Mapping[str, Any]) -> Mapping[str, Any]:
        if self._labels is None:
            return manifest
        metadata = manifest["metadata"]
        return {**manifest, "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), **self._labels}}}


class SlotLeasesClient:
    """Reads the Leases of all slots of an election with one LIST, without retries."""

    def __init__(self, transport: Transport, namespace: str, election: str, *, timeout: float) -> None:
        """Send requests with `transport`; `timeout` is in seconds for each."""
        self._transport = transport
        self._namespace = namespace
        self._election = election
        self._timeout = timeout

    def lease(self, name: str) -> LeaseClient:
        """Return the requests for one of the Leases."""
        labels = {SLOT_LABEL: self._election}
        return LeaseClient(self._transport, self._namespace, name, timeout=self._timeout, labels=labels)

    async def leases(self) -> dict[str, Lease]:
        """Return all Leases with the label, by name."""
        query = [("labelSelector", f"{SLOT_LABEL}={self._election}")]
        path = LEASE.path(self._namespace)
        found = await _answer(self._transport, "GET", path, query=query, timeout=self._timeout)
        try:
            return {raw["metadata"]["name"]: parse(raw) for raw in found["items"] or ()}
        except _NOT_A_LEASE as error:
            raise _undecodable("a list of Leases", found) from error


async def _answer(
    transport: Transport,
    method: str,
    path: str,
    *,
    timeout: float,  # noqa: ASYNC109 - of the request
    query: Sequence[tuple[str, str]] = (),
    body: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    headers = {"Accept": _JSON, **({"Content-Type": _JSON} if body is not None else {})}
    response = await transport.send(method, path, query=query, headers=headers, body=body, seconds=timeout)
    try:
        return decode(response)
    except Refused as error:
        if error.status == 401:
            transport.invalidate_credentials()
        raise


def _undecodable(wanted: str, found: Mapping[str, Any]) -> Undecodable:
    return Undecodable(f"the response is not {wanted}: its fields are {str(list(found))[:80]}")
