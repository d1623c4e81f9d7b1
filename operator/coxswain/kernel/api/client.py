"""Send JSON requests to the API server and classify the errors."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from copy import copy
from typing import Any

from coxswain.kernel.api.errors import (
    ErrorClass,
    NotLeading,
    ReadRejected,
    Refused,
    RequestFailed,
    TooLarge,
    Undecodable,
)
from coxswain.kernel.api.throttle import Throttle
from coxswain.kernel.api.transport import HttpResponse, Transport
from coxswain.kernel.objects import tolerant_json
from coxswain.kernel.objects.kinds import EVENT, Kind
from coxswain.metrics import RequestMetrics

_JSON = "application/json"
_APPLY = "application/apply-patch+yaml"
_JSON_PATCH = "application/json-patch+json"

_FIRST_PAGE = 16
"""Objects on the first page of a LIST. A single object may have 1.5 MB."""
_PAGE_BYTES = 4 * 1024 * 1024
"""Target size of a LIST page, in bytes. Decoded JSON with short keys takes 20 times the memory; the pod has 512 MiB."""


class Client:
    """Sends requests to the API server, without retries: the workqueue requeues with backoff."""

    def __init__(
        self,
        transport: Transport,
        throttle: Throttle,
        *,
        timeout: float,
        page_size: int,
        leads: Callable[[str], bool] = lambda _: True,
    ) -> None:
        """Create a client.

        Args:
            transport: sends the requests.
            throttle: limits concurrency and honours Retry-After.
            timeout: the timeout of a request in seconds, excluding its wait in the throttle.
            page_size: the largest number of objects on a LIST page.
            leads: whether this process may write to a namespace now; asked immediately before each write is sent. A
                write without leadership fails with `NotLeading`.
        """
        self._metrics = RequestMetrics(transport.host)
        self._transport = transport
        self._throttle = throttle
        self._timeout = timeout
        self._page_size = page_size
        self._leads = leads
        self._check: Callable[[], None] = lambda: None
        self._page_limits: dict[tuple[str, bool], int] = {}
        """The `limit` of the next LIST page, by collection path and whether only metadata is listed."""

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    def end(self) -> None:
        """Start no more requests: they fail with `ShuttingDown`. Requests in flight complete."""
        self._throttle.end()

    def checking(self, check: Callable[[], None]) -> "Client":
        """Return this client with a check: it runs immediately before each write is sent.

        It prevents the write by a `RequestFailed`.
        """
        client = copy(self)
        client._check = check  # noqa: SLF001 - of its own copy
        return client

    async def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any]:
        """Return an object."""
        return await self._read(kind.path(namespace, name))

    async def pages(self, kind: Kind, namespace: str | None) -> AsyncIterator[dict[str, Any]]:
        """Yield the pages of a consistent LIST, all at the resourceVersion of the first page.

        The page limit adapts to the size of the objects. It is halved if a page is too large or times out.

        Raises:
            Refused: with status 410 if the continue token has expired.
            Unreachable: also if the first page times out. The next LIST then begins with a smaller page.
        """
        path = kind.path(namespace)
        selectors = {"labelSelector": kind.label_selector, "fieldSelector": kind.field_selector}
        query = [(name, selector) for name, selector in selectors.items() if selector]
        listing = path, kind.metadata_only
        limit, token = self._page_limits.get(listing, min(_FIRST_PAGE, self._page_size)), ""
        while True:
            page_query = [("limit", str(limit)), *query, *([("continue", token)] if token else [])]
            try:
                page, size = await self._send("GET", path, query=page_query, accept=kind.accept(watching=False))
            except RequestFailed as error:
                if limit == 1 or not (isinstance(error, TooLarge) or _timed_out(error)):
                    raise
                limit = self._page_limits[listing] = limit // 2
                # The server may hang, whatever the limit. So the caller learns of the first timeout.
                if not token and _timed_out(error):
                    raise
                continue
            items = page.get("items")
            if isinstance(items, list) and items:
                limit = self._page_limits[listing] = next_limit(limit, len(items), size, self._page_size)
            yield page
            token = page["metadata"].get("continue", "")
            # Release the memory of this page before the next one is decoded.
            del page, items
            if not token:
                return

    async def warnings(self, namespace: str, uid: str, limit: int) -> list[dict[str, Any]]:
        """Return Warning Events about the object with this uid, at most `limit`, in no order.

        One LIST without pages. The API server has no cache of Events and searches those of the namespace.
        """
        query = [("fieldSelector", f"regarding.uid={uid},type=Warning"), ("limit", str(limit))]
        items = (await self._read(EVENT.path(namespace), query)).get("items")
        return items if isinstance(items, list) else []

    async def create(self, kind: Kind, namespace: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Create an object by POST."""
        return await self._write("POST", namespace, kind.path(namespace), body=manifest, content_type=_JSON)

    async def apply(
        self,
        kind: Kind,
        manifest: Mapping[str, Any],
        *,
        field_manager: str,
        force: bool,
        subresource: str | None = None,
    ) -> dict[str, Any]:
        """Apply a manifest by Server-Side Apply; `field_manager` becomes an owner of all its fields.

        Raises:
            Refused: without `force`, with status 409 and causes if another manager owns a field with another value.
        """
        metadata = manifest["metadata"]
        namespace = metadata["namespace"]
        path = kind.path(namespace, metadata["name"], subresource)
        query = [("fieldManager", field_manager), ("force", "true" if force else "false")]
        return await self._write("PATCH", namespace, path, query=query, body=manifest, content_type=_APPLY)

    async def json_patch(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        operations: Sequence[Mapping[str, Any]],
        *,
        subresource: str | None = None,
    ) -> dict[str, Any]:
        """Change an object by JSON Patch."""
        path = kind.path(namespace, name, subresource)
        return await self._write("PATCH", namespace, path, body=operations, content_type=_JSON_PATCH)

    async def delete(
        self, kind: Kind, namespace: str, name: str, *, uid: str, version: int, orphan: bool = False
    ) -> None:
        """Delete an object with preconditions on its uid and resourceVersion.

        With `orphan`, its dependents are not deleted.

        Raises:
            Refused: with status 409 if a precondition fails.
        """
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": uid, "resourceVersion": str(version)},
            "propagationPolicy": "Orphan" if orphan else "Background",
        }
        await self._write("DELETE", namespace, kind.path(namespace, name), body=options, content_type=_JSON)

    async def review(self, kind: Kind, spec: Mapping[str, Any]) -> dict[str, Any]:
        """Return the status of a review, such as a TokenReview.

        The API server computes it and stores nothing. So a process that does not lead may send it too.
        """
        body = {"apiVersion": kind.api_version, "kind": kind.kind, "spec": spec}
        response, _ = await self._send("POST", kind.path(), body=body, content_type=_JSON)
        status = response.get("status")
        return status if isinstance(status, dict) else {}

    async def missing(self, kinds: Sequence[Kind]) -> list[Kind]:
        """Return the kinds not served by the API server, according to discovery."""
        served: dict[str, set[str]] = {}
        for path in sorted({kind.group_path for kind in kinds}):
            try:
                group = await self._read(path)
            except Refused as error:
                if error.status != 404:
                    raise
                group = {}
            served[path] = {resource["name"] for resource in group.get("resources", [])}
        return [kind for kind in kinds if kind.plural not in served[kind.group_path]]

    async def _read(self, path: str, query: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
        response, _ = await self._send("GET", path, query=query)
        return response

    async def _write(self, method: str, namespace: str, path: str, **request: Any) -> dict[str, Any]:
        """Send a write in a namespace, if this process leads there and the check passes."""

        def check() -> None:
            if not self._leads(namespace):
                raise NotLeading(f"{method} {path} was not sent: this process does not lead")
            self._check()

        response, _ = await self._send(method, path, check=check, **request)
        return response

    async def _send(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        body: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        content_type: str | None = None,
        accept: str = _JSON,
        check: Callable[[], None] = lambda: None,
    ) -> tuple[dict[str, Any], int]:
        """Send a request. Return the response body and its size in bytes."""
        headers = {"Accept": accept, **({"Content-Type": content_type} if content_type else {})}
        # The API server counts a review as a write in its limits for concurrent requests.
        writing = method != "GET"
        clock = asyncio.get_running_loop().time
        queued = clock()
        async with self._throttle.turn(writing=writing):
            self._metrics.waited(method, clock() - queued)
            response = await self._transport.send(
                method, path, query=query, headers=headers, body=body, seconds=self._timeout, check=check
            )
        try:
            return decode(response), len(response.payload)
        except Refused as error:
            self._throttle.refused(error, writing=writing)
            if error.status == 401:
                self._transport.invalidate_credentials()
            if not writing and error.error_class is ErrorClass.TERMINAL:
                raise ReadRejected(f"{method} {path}: {error}") from error
            raise


def next_limit(limit: int, count: int, size: int, largest: int) -> int:
    """Return the `limit` of the next page, after a page of `count` objects and `size` bytes.

    It grows at most fourfold per page, because the following objects may be larger than all before.
    """
    fitting = int(_PAGE_BYTES * count / max(size, 1))
    return max(1, min(fitting, 4 * limit, largest))


def _timed_out(error: RequestFailed) -> bool:
    return isinstance(error.__cause__, TimeoutError)


def decode(response: HttpResponse) -> dict[str, Any]:
    """Return the JSON object of a response, without values that are nested too deeply for the parser.

    Raises:
        Refused: the response has an error status.
        Undecodable: the response is not a JSON object.
    """
    try:
        body = tolerant_json.loads(response.payload)
    except ValueError:
        body = None
    if response.status >= 400:
        error_body = body if isinstance(body, dict) else {"message": response.payload[:500].decode(errors="replace")}
        raise Refused(response.status, error_body, retry_after=response.retry_after)
    if not isinstance(body, dict):
        raise Undecodable(f"a response with status {response.status} is not a JSON object: {response.payload[:80]!r}")
    return body
