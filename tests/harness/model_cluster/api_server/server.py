"""The API server."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from model_cluster.api_server.answers import Refused, Response, bad_request, forbidden, no_such_path, refused
from model_cluster.api_server.deletion import Deletion
from model_cluster.api_server.kinds import Address, Kind, Registry, custom_kinds
from model_cluster.api_server.reads import Event, got, list_kind, listed, metadata_list, watched
from model_cluster.api_server.scale import Scaling
from model_cluster.api_server.store import Snapshot, Store
from model_cluster.api_server.strategy import Maker
from model_cluster.api_server.writes import Admission, Writes

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class ApiServer:
    """Answers requests synchronously: `request` returns after the write is done or refused.

    Objects in requests and responses are shared and must not be changed.
    """

    def __init__(
        self,
        crds: Sequence[Path] = (),
        *,
        now: Callable[[], datetime],
        new_uid: Callable[[], str],
        restricted_agent: str = "operator",
        restricted_user: str = "operator",
    ) -> None:
        """Serve the built-in kinds and those of some CustomResourceDefinitions.

        Args:
            crds: YAML files with CustomResourceDefinitions.
            now: returns the time of creation timestamps.
            new_uid: returns the uid of a new object.
            restricted_agent: prefix of the user agent whose user may lack rights.
            restricted_user: the name of that user in refusals.
        """
        self.registry = Registry([kind for crd in crds for kind in custom_kinds(crd)])
        self.admission: list[Admission] = []
        """The admission policies of each write, in order."""
        self.forbidden: set[tuple[str, str, str | None]] = set()
        """Missing rights of the restricted user: verb, resource (webapps/status), namespace or None for all."""
        self.restricted_agent = restricted_agent
        self.restricted_user = restricted_user
        self.unserved: set[str] = set()
        """Resources that are not served, such as webapps before the CRD exists."""
        self.undiscovered: set[str] = set()
        """Resources that discovery leaves out. It may lag behind `unserved`."""
        self._addresses = self._node_ports = 0
        self._store = Store()
        maker = Maker(now, new_uid, self._new_address, self.free_node_port)
        self._writes = Writes(self._store, maker, self.admission)
        self._writes.may_create = lambda address, agent: self._allow(address, "create", agent)
        self._scaling = Scaling(self._store, maker, self._writes)
        self._deletion = Deletion(self._store, maker, self._writes)

    @property
    def version(self) -> int:
        """The resourceVersion of the newest change."""
        return self._store.version

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str],
        body: Any = None,
        content_type: str = "",
        user_agent: str = "",
        metadata_only: bool = False,
    ) -> Response:
        """Answer a request; `metadata_only` is for a LIST whose Accept asks for PartialObjectMetadataList."""
        try:
            found = self._answer(method, path, query, body, content_type=content_type, agent=user_agent)
        except Refused as error:
            return error.response
        return metadata_list(found) if metadata_only else found

    def watch_events(self, path: str, *, since: int, label_selector: str = "", user_agent: str = "") -> list[Event]:
        """Return the events so far of a watch that began at a version.

        Raises:
            Expired: 410, some changes are compacted.
            Refused: the watch is not allowed, or the path does not exist.
        """
        address = self._address(path)
        self._allow(address, "watch", user_agent)
        return watched(self._store, address, since, label_selector)

    def compact(self, version: int) -> None:
        """Compact the changes up to a version."""
        self._store.compact(version)

    def snapshot(self) -> Snapshot:
        """Return a backup of all stored data."""
        return self._store.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Restore a snapshot: resourceVersions go backwards."""
        self._store.restore(snapshot)

    def collect_garbage(self) -> int:
        """Delete objects without a remaining owner, once; return the number of changed objects."""
        return self._deletion.collect_garbage()

    def empty_namespaces(self) -> int:
        """Empty terminating namespaces, then delete the empty ones, once; return the number of changed objects."""
        return self._deletion.empty_namespaces()

    def _answer(
        self, method: str, path: str, query: Mapping[str, str], body: Any, *, content_type: str, agent: str
    ) -> Response:
        kinds = self.registry.group_versions.get(path)
        if kinds is not None and method == "GET":
            return self._answer_discovery(kinds)
        address = self._address(path)
        verb = _VERBS.get(method) or ("get" if address.name else "list")
        self._allow(address, verb, agent)
        if address.subresource == "scale":
            return self._answer_scale(method, address, query, body, agent)
        if method == "GET":
            return got(self._store, address) if address.name else listed(self._store, address, query)
        if bool(address.name) == (method == "POST"):
            raise refused(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
        if method == "DELETE":
            return self._deletion.delete(address, body, query, agent)
        return self._answer_write(method, address, query, body, content_type=content_type, agent=agent)

    def _answer_discovery(self, kinds: tuple[Kind, ...]) -> Response:
        served = tuple(kind for kind in kinds if kind.plural not in self.undiscovered)
        if not served:
            raise no_such_path()
        return list_kind(kinds[0].api_version, served)

    def _answer_write(
        self, method: str, address: Address, query: Mapping[str, str], body: Any, *, content_type: str, agent: str
    ) -> Response:
        if method == "PATCH":
            return self._writes.patch(address, body, content_type, query, agent)
        if not isinstance(body, dict):
            raise bad_request("the body of the request is no object")
        write = self._writes.put if method == "PUT" else self._writes.post
        return write(address, body, query, agent)

    def _answer_scale(self, method: str, address: Address, query: Mapping[str, str], body: Any, agent: str) -> Response:
        if method == "PATCH":
            return self._scaling.patch(address, body, query, agent)
        return self._scaling.put(address, body, query, agent) if method == "PUT" else self._scaling.get(address)

    def _address(self, path: str) -> Address:
        address = self.registry.address(path)
        if address is None or address.kind.plural in self.unserved:
            raise no_such_path()
        return address

    def _allow(self, address: Address, verb: str, agent: str) -> None:
        if not self.forbidden or not agent.startswith(self.restricted_agent):
            return
        resource = address.kind.plural + (f"/{address.subresource}" if address.subresource else "")
        if self.forbidden & {(verb, resource, address.namespace), (verb, resource, None)}:
            raise forbidden(address, verb, self.restricted_user)

    def _new_address(self) -> str:
        self._addresses += 1
        return f"10.96.{self._addresses // 250}.{self._addresses % 250 + 1}"

    def free_node_port(self) -> int:
        """Return a node port that no Service has."""
        self._node_ports += 1
        return 30_000 + self._node_ports % 2_768
