"""The tests' own watches: they record every version of every object in a namespace, directly from the API server."""

import json
import socket
import ssl
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self
from urllib.parse import urlencode, urlsplit

_PAUSE_SECONDS = 0.1
_SILENT_SECONDS = 150.0  # a bookmark comes about every minute, so the connection is dead after a longer silence


class Server(Protocol):
    """The part of a ControlPlane that the witness needs."""

    @property
    def url(self) -> str: ...

    @property
    def ca_file(self) -> Path | None: ...

    @property
    def token(self) -> str: ...


@dataclass(frozen=True)
class Change:
    """One version of an object, or its deletion."""

    at: float
    """The time of arrival, in seconds of the monotonic clock."""
    resource: str
    """The plural."""
    type: str
    """ADDED, MODIFIED or DELETED."""
    name: str
    uid: str
    version: int
    object: Mapping[str, Any]
    late: bool = False
    """Found by a LIST after a gap in the watch: versions before this one may be missing."""


class Gone(Exception):
    """The API server has compacted the version after which a watch should start."""


class NotServed(OSError):
    """The API server does not serve a resource: its CRD is not installed. So there are no objects of it."""


def list_objects(server: Server, namespace: str, resource: str, path: str) -> tuple[list[dict[str, Any]], int]:
    """Return the objects of a resource in a namespace, and the resourceVersion of the list.

    Args:
        server: the API server.
        namespace: the namespace.
        resource: the plural.
        path: the path of group and version, such as /apis/apps/v1.

    Raises:
        NotServed: the server does not serve the resource.
        OSError: the server does not respond, or does not respond with a list.
        HTTPException: the server's response is not HTTP.
    """
    with closing(_connection(server, timeout=10)) as connection:
        return _list(connection, server, namespace, (resource, path))


def list_all(server: Server, namespace: str, resources: Mapping[str, str]) -> dict[str, list[dict[str, Any]]]:
    """Return the objects of several resources by plural, over one connection. A resource that is not served has none.

    `resources` maps plurals to the path of group and version. Raises the errors of `list_objects` except NotServed.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    with closing(_connection(server, timeout=10)) as connection:
        for each in resources.items():
            try:
                found[each[0]], _ = _list(connection, server, namespace, each)
            except NotServed:
                found[each[0]] = []
    return found


def _list(
    connection: HTTPConnection, server: Server, namespace: str, resource: tuple[str, str]
) -> tuple[list[dict[str, Any]], int]:
    answer = _get(connection, server, _path(namespace, *resource))
    text = answer.read()
    if answer.status == 404:  # without the API group, the text is not JSON
        raise NotServed(f"the API server does not serve {resource[0]}")
    try:
        body = json.loads(text)
    except ValueError as error:
        raise OSError(f"the LIST of {resource[0]} is not JSON: {error}") from error
    if answer.status != 200:
        raise OSError(f"the LIST of {resource[0]} failed with {answer.status}: {body.get('message')}")
    return body.get("items") or [], int(body["metadata"]["resourceVersion"])


class Witness:
    """Watches the resources inside a `with` block, also across failures of the API server."""

    def __init__(self, cluster: Server, namespace: str, resources: Mapping[str, str]) -> None:
        """Watch some resources; `resources` maps plurals to the path of group and version."""
        self._server = cluster
        self.namespace = namespace
        self._resources = resources
        self.changed = threading.Condition()
        self._changes: list[Change] = []
        self._watchers: list[_Watcher] = []

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def changes(self) -> list[Change]:
        """Return the changes so far, in order of arrival."""
        with self.changed:
            return list(self._changes)

    @property
    def count(self) -> int:
        """The number of changes so far."""
        with self.changed:
            return len(self._changes)

    def latest(self, resource: str, name: str) -> Mapping[str, Any] | None:
        """Return the latest seen version of an object; None if it does not exist."""
        with self.changed:
            found = next(watcher.known.get(name) for watcher in self._watchers if watcher.resource == resource)
            return None if found is None else found.object

    def restart(self) -> None:
        """Start again with a LIST, because a restore of etcd has changed the server's history.

        Objects that the LIST lacks are recorded as DELETED.
        """
        self._stop()
        self._start({watcher.resource: watcher.known for watcher in self._watchers})

    def caught_up(self, timeout: float = 15.0) -> None:
        """Wait until all changes before this call have been seen.

        Raises:
            TimeoutError: some have not been seen after `timeout` seconds.
        """
        deadline = time.monotonic() + timeout
        for watcher in self._watchers:
            items, version = self._list_until(watcher.resource, deadline)
            there = {item["metadata"]["name"]: _version(item) for item in items}
            with self.changed:
                while not watcher.has_seen(there, version):
                    if not self.changed.wait(deadline - time.monotonic()):
                        raise TimeoutError(f"the witness has not seen all {watcher.resource} in {self.namespace}")

    def _list_until(self, resource: str, deadline: float) -> tuple[list[dict[str, Any]], int]:
        while True:
            try:
                return list_objects(self._server, self.namespace, resource, self._resources[resource])
            except NotServed:
                return [], sys.maxsize  # no version is newer, so the watcher may know no object
            except (OSError, HTTPException) as error:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"the LIST of {resource} keeps failing: {error}") from error
                time.sleep(_PAUSE_SECONDS)

    def _start(self, known: "Mapping[str, dict[str, Change]] | None" = None) -> None:
        self._watchers = [
            _Watcher(self._server, self.namespace, (resource, path), self, dict((known or {}).get(resource, {})))
            for resource, path in self._resources.items()
        ]
        for watcher in self._watchers:
            watcher.start()

    def _stop(self) -> None:
        for watcher in self._watchers:
            watcher.end()
        for watcher in self._watchers:
            watcher.join(5)

    def record(self, *changes: Change) -> None:
        """Record changes. The watchers call this."""
        with self.changed:
            self._changes += changes
            self.changed.notify_all()


class _Watcher(threading.Thread):
    """Lists and watches one resource."""

    def __init__(
        self, server: Server, namespace: str, watched: tuple[str, str], witness: Witness, known: dict[str, Change]
    ) -> None:
        self.resource, self._group_path = watched
        super().__init__(name=f"witness of {self.resource} in {namespace}", daemon=True)
        self.known = known
        """The latest version of each existing object, by name."""
        self._gone: dict[str, int] = {}
        self._listed = False
        self._server = server
        self._path = _path(namespace, *watched)
        self._namespace = namespace
        self._witness = witness
        self._version = 0
        self._over = threading.Event()
        self._connection: HTTPConnection | None = None

    def run(self) -> None:
        while not self._over.is_set():
            try:
                if not self._version:
                    self._list()
                self._watch()
            except Gone:
                self._version = 0
            except NotServed:
                self._empty()
                self._over.wait(_PAUSE_SECONDS)
            except (OSError, HTTPException, ValueError):
                # The API server is down, or closed the connection inside a line. It will return, or the test will end.
                self._over.wait(_PAUSE_SECONDS)

    def end(self) -> None:
        """Close the watch; nothing is recorded afterwards."""
        self._over.set()
        connection = self._connection
        if connection is not None and connection.sock is not None:
            try:
                connection.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # already closed

    def has_seen(self, there: Mapping[str, int], version: int) -> bool:
        """Tell whether a LIST (versions by name, and its own version) contains nothing new."""
        newest = {name: change.version for name, change in self.known.items()}
        return (
            self._listed
            and all(max(newest.get(name, 0), self._gone.get(name, 0)) >= found for name, found in there.items())
            and all(name in there or found > version for name, found in newest.items())
        )

    def _list(self) -> None:
        items, version = list_objects(self._server, self._namespace, self.resource, self._group_path)
        late = bool(self._listed or self.known)
        there = {item["metadata"]["name"]: item for item in items}
        for name, last in list(self.known.items()):
            if name not in there or there[name]["metadata"]["uid"] != last.uid:
                self._record("DELETED", last.object, version, late=True)
        for item in items:
            before = self.known.get(item["metadata"]["name"])
            if before is None or before.version != _version(item):
                self._record("ADDED" if before is None else "MODIFIED", item, _version(item), late=late)
        self._listed = True
        self._witness.record()
        self._version = version

    def _empty(self) -> None:
        """Record that no object exists, because the resource is not served. A later LIST starts again."""
        for last in list(self.known.values()):
            self._record("DELETED", last.object, last.version, late=True)
        self._listed = True
        self._witness.record()
        self._version = 0

    def _watch(self) -> None:
        query = urlencode({"watch": "1", "allowWatchBookmarks": "true", "resourceVersion": self._version})
        self._connection = connection = _connection(self._server, timeout=_SILENT_SECONDS)
        try:
            answer = _get(connection, self._server, f"{self._path}?{query}")
            if answer.status == 410:
                raise Gone
            if answer.status == 404:
                raise NotServed(f"the API server does not serve {self.resource}")
            if answer.status != 200:
                raise OSError(f"the watch failed with {answer.status}")
            while not self._over.is_set() and (line := answer.readline()):
                self._take(json.loads(line))
        finally:
            connection.close()

    def _take(self, event: Mapping[str, Any]) -> None:
        kind, thing = event["type"], event["object"]
        if kind == "ERROR":
            if thing.get("code") == 410:
                raise Gone
            raise OSError(f"the watch ended: {thing.get('message')}")
        self._version = _version(thing)
        if kind != "BOOKMARK":
            self._record(kind, thing, self._version)

    def _record(self, kind: str, thing: Mapping[str, Any], version: int, *, late: bool = False) -> None:
        if self._over.is_set():
            return
        metadata = thing["metadata"]
        change = Change(
            time.monotonic(), self.resource, kind, metadata["name"], metadata["uid"], version, thing, late=late
        )
        with self._witness.changed:
            if kind == "DELETED":
                self.known.pop(change.name, None)
                self._gone[change.name] = version
            else:
                self.known[change.name] = change
            self._witness.record(change)


def _path(namespace: str, resource: str, group_path: str) -> str:
    return f"{group_path}/namespaces/{namespace}/{resource}"


def _version(thing: Mapping[str, Any]) -> int:
    return int(thing["metadata"]["resourceVersion"])


def _connection(server: Server, timeout: float) -> HTTPConnection:
    parts = urlsplit(server.url)
    host, port = parts.hostname or "", parts.port
    if parts.scheme == "http":
        return HTTPConnection(host, port, timeout=timeout)
    context = ssl.create_default_context(cafile=None if server.ca_file is None else str(server.ca_file))
    return HTTPSConnection(host, port, timeout=timeout, context=context)


def _get(connection: HTTPConnection, server: Server, path: str) -> HTTPResponse:
    connection.request("GET", path, headers={"Authorization": f"Bearer {server.token}", "Accept": "application/json"})
    return connection.getresponse()
