"""The API server."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from simulation.model.answers import Refused, Response, bad_request, forbidden, no_such_path, refused
from simulation.model.deletion import Deletion
from simulation.model.kinds import Address, Kind, group_versions, parse
from simulation.model.reads import Event, got, list_kind, listed, watched
from simulation.model.scale import Scaling
from simulation.model.store import Snapshot, Store
from simulation.model.strategy import Maker
from simulation.model.writes import Admission, Writes

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class ApiServer:
    """Answers requests at once; each is either done or refused when `request` returns.

    Objects that go in and come out are shared: nobody changes them.
    """

    def __init__(self, *, now: Callable[[], datetime], new_uid: Callable[[], str]) -> None:
        """Tell the time by `now` and name what is new by `new_uid`."""
        self.admission: list[Admission] = []
        """Policies that each write passes, in order."""
        self.forbidden: set[tuple[str, str, str | None]] = set()
        """Rights that the restricted user lacks: verb, resource (webapps/status), namespace or None for all."""
        self.restricted_agent = "coxswain"
        """How the user agent of the restricted user begins."""
        self.restricted_user = "system:serviceaccount:coxswain-system:coxswain"
        self.unserved: set[str] = set()
        """Resources whose kind is not there, such as webapps before the CRD is."""
        self._addresses = 0
        self._store = Store()
        maker = Maker(now, new_uid, self._new_address)
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
    ) -> Response:
        """Answer a request."""
        try:
            return self._answer(method, path, query, body, content_type=content_type, agent=user_agent)
        except Refused as error:
            return error.response

    def watch_events(self, path: str, *, since: int, label_selector: str = "", user_agent: str = "") -> list[Event]:
        """Return what a watch that began at a version has told by now.

        Raises:
            Expired: 410, some changes are forgotten.
            Refused: it is not allowed, or leads to nothing.
        """
        address = self._address(path)
        self._allow(address, "watch", user_agent)
        return watched(self._store, address, since, label_selector)

    def compact(self, version: int) -> None:
        """Forget the changes up to a version."""
        self._store.compact(version)

    def snapshot(self) -> Snapshot:
        """Return all that is stored, as a backup."""
        return self._store.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Be as at a snapshot: resourceVersions run backwards."""
        self._store.restore(snapshot)

    def collect_garbage(self) -> int:
        """Delete what no owner is left of, once; return how many objects changed."""
        return self._deletion.collect_garbage()

    def empty_namespaces(self) -> int:
        """Delete once what is in terminating namespaces, then the empty ones; return how many objects changed."""
        return self._deletion.empty_namespaces()

    def _answer(
        self, method: str, path: str, query: Mapping[str, str], body: Any, *, content_type: str, agent: str
    ) -> Response:
        kinds = group_versions().get(path)
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
        served = tuple(kind for kind in kinds if kind.plural not in self.unserved)
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
        address = parse(path)
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
