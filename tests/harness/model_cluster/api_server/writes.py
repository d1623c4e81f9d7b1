"""Writes: create, replace, patch, apply. Each makes one change of the store, or none."""

from collections.abc import Callable, Mapping
from typing import Any

from model_cluster.api_server.answers import (
    Refusal,
    Refused,
    Response,
    Wrong,
    already_exists,
    bad_request,
    by_policy,
    conflict,
    field_conflict,
    invalid,
    namespace_terminating,
    not_found,
    refused,
)
from model_cluster.api_server.defaults import defaulted
from model_cluster.api_server.kinds import NAMESPACE, Address, Kind
from model_cluster.api_server.managed import (
    BEFORE_FIRST_APPLY,
    Conflict,
    Managers,
    Untypable,
    Writer,
    applied,
    decoded,
    encoded,
    updated,
    with_metadata,
    without_entries,
)
from model_cluster.api_server.patches import Unfit, json_patched, merge_patched
from model_cluster.api_server.schema import Json, Object
from model_cluster.api_server.store import Store
from model_cluster.api_server.strategy import Maker, changed, created, is_read_default, same, with_stored_status
from model_cluster.api_server.validation import of_new

Admission = Callable[[str, Object | None, Object | None, str], Object | Refusal | None]
"""A policy; its arguments are the operation (CREATE, UPDATE, DELETE), the object, the old one and the user agent.

It returns a changed object, None to accept the object unchanged, or a refusal."""

APPLY = "application/apply-patch+yaml"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"


class Writes:
    """Changes stored objects."""

    def __init__(self, store: Store, maker: Maker, admission: list[Admission]) -> None:
        self._store = store
        self._maker = maker
        self._admission = admission
        self.may_create: Callable[[Address, str], None] = lambda _address, _agent: None

    def post(self, address: Address, body: Object, query: Mapping[str, str], agent: str) -> Response:
        """Create an object."""
        kind = address.kind
        name = body.get("metadata", {}).get("name", "")
        body = _placed(address, body, name)
        if self._store.get(kind, address.namespace or "", name) is not None:
            self._check_namespace(address, name)
            # An object is validated before its name is looked up.
            if wrongs := of_new(kind, defaulted(kind, {key: body[key] for key in body if key != "status"})):
                raise invalid(kind, name, wrongs)
            raise already_exists(kind, name)
        return Response(201, self._create(address, name, body, _writer(kind, "", query, agent, self._maker), agent))

    def put(self, address: Address, body: Object, query: Mapping[str, str], agent: str) -> Response:
        """Replace an object."""
        kind = address.kind
        body = _placed(address, body, address.name)
        old = self._store.get(kind, address.namespace or "", address.name)
        writer = _writer(kind, address.subresource, query, agent, self._maker)
        if old is None:
            if not kind.created_by_put or address.subresource:
                raise not_found(kind, address.name)
            if body["metadata"].get("uid"):
                raise conflict(kind, address.name, "Precondition failed: there is no object")
            return Response(201, self._create(address, address.name, body, writer, agent))
        uid = body["metadata"].get("uid")
        if uid and uid != old["metadata"]["uid"]:
            raise _other_uid(kind, address.name, uid, old)
        if not kind.unconditional_update and not body["metadata"].get("resourceVersion"):
            message = "Invalid value: 0: must be specified for an update"
            wrong = Wrong("FieldValueInvalid", message, "metadata.resourceVersion")
            raise invalid(kind, address.name, [wrong], by_plural=True)
        return Response(200, self.update(kind, old, body, writer, agent, subresource=address.subresource))

    def patch(self, address: Address, body: Json, content_type: str, query: Mapping[str, str], agent: str) -> Response:
        """Patch an object, or apply it."""
        kind = address.kind
        old = self._store.get(kind, address.namespace or "", address.name)
        if content_type == APPLY:
            return self._apply(address, old, body, query, agent)
        if old is None:
            raise not_found(kind, address.name)
        try:
            new = json_patched(old, body) if content_type == JSON_PATCH else merge_patched(old, body)
        except Unfit as error:
            raise refused(422, "Invalid", f"the server rejected our request: {error}", details={}) from error
        new = _placed(address, new, address.name)
        writer = _writer(kind, address.subresource, query, agent, self._maker)
        return Response(200, self.update(kind, old, new, writer, agent, subresource=address.subresource))

    def update(
        self, kind: Kind, old: Object, new: Object, writer: Writer, agent: str, *, subresource: str = ""
    ) -> Object:
        """Store a change by a write other than apply."""
        managers = _managers(kind, old, new, subresource)
        new = without_entries(defaulted(kind, new))
        if managers:
            ignored = kind.ignored(subresource)
            managers = updated(kind.type, without_entries(old), new, managers, writer, ignored=ignored)
        return self.store_change(kind, old, new, managers, agent, subresource=subresource)

    def _apply(
        self, address: Address, old: Object | None, body: Object, query: Mapping[str, str], agent: str
    ) -> Response:
        kind = address.kind
        if not query.get("fieldManager"):
            raise _no_manager()
        if (body.get("apiVersion"), body.get("kind")) != (kind.api_version, kind.name):
            raise bad_request(f"invalid object type: {body.get('apiVersion')}, Kind={body.get('kind')}")
        if body.get("metadata", {}).get("managedFields") is not None:
            raise bad_request("metadata.managedFields must be nil")
        if old is None and address.subresource:
            raise not_found(kind, address.name)
        writer = Writer(query["fieldManager"], kind.api_version, address.subresource, self._maker.time)
        force = query.get("force") == "true"
        live = _empty(kind) if old is None else without_entries(old)
        managers: Managers = {} if old is None else decoded(old["metadata"].get("managedFields", [])) or {}
        ignored = kind.ignored(address.subresource)
        if old is not None and not managers:
            first = Writer(BEFORE_FIRST_APPLY, kind.api_version, address.subresource, self._maker.time)
            managers = updated(kind.type, _empty(kind), live, {}, first, ignored=ignored)
        try:
            new, managers = applied(kind.type, live, body, managers, writer, force=force, ignored=ignored)
        except Conflict as error:
            raise field_conflict([(str(manager), place) for manager, place in error.fields]) from error
        except Untypable as error:
            place = f"{address.namespace}/{address.name}; {kind.api_version}, Kind={kind.name}"
            raise refused(500, "", f"failed to create typed patch object ({place}): {error}") from error
        return self._store_applied(address, old, new, managers, agent)

    def _store_applied(
        self, address: Address, old: Object | None, new: Object, managers: Managers, agent: str
    ) -> Response:
        kind = address.kind
        new = defaulted(kind, _placed(address, new, address.name))
        if old is not None:
            return Response(200, self.store_change(kind, old, new, managers, agent, subresource=address.subresource))
        if new["metadata"].get("uid"):
            why = f"uid mismatch: the provided object specified uid {new['metadata']['uid']}"
            raise conflict(kind, address.name, f"{why}, and no existing object was found")
        self._check_namespace(address, address.name)
        self.may_create(address, agent)
        return Response(201, self._store_new(kind, new, managers, agent))

    def _create(self, address: Address, name: str, body: Object, writer: Writer, agent: str) -> Object:
        kind = address.kind
        self._check_namespace(address, name)
        new = without_entries(defaulted(kind, body))
        managers = updated(kind.type, _empty(kind), new, {}, writer, ignored=kind.ignored(""))
        return self._store_new(kind, new, managers, agent)

    def _store_new(self, kind: Kind, new: Object, managers: Managers, agent: str) -> Object:
        new = self._admitted("CREATE", kind, new, None, agent)
        new = created(kind, new, self._maker)
        return self._store.put(kind, _with_entries(new, managers))

    def store_change(
        self, kind: Kind, old: Object, new: Object, managers: Managers, agent: str, *, subresource: str = ""
    ) -> Object:
        """Store a change with the given field ownership."""
        new = self._admitted("UPDATE", kind, _with_entries(new, managers), old, agent)
        new = changed(kind, old, new, subresource, self._maker)
        new = defaulted(kind, new)
        if same(old, new) and not is_read_default(kind, old):
            return old
        new = with_stored_status(kind, new)
        if "deletionTimestamp" in old["metadata"] and not new["metadata"].get("finalizers"):
            self._store.remove(kind, old)
            return new
        return self._store.put(kind, new)

    def _admitted(self, operation: str, kind: Kind, new: Object, old: Object | None, agent: str) -> Object:
        for policy in self._admission:
            answer = policy(operation, new, old, agent)
            if isinstance(answer, Refusal):
                raise by_policy(kind, new["metadata"].get("name", ""), answer)
            new = answer if answer is not None else new
        return new

    def check_deletion(self, kind: Kind, old: Object, agent: str) -> None:
        """Ask the policies whether a deletion is allowed."""
        self._admitted("DELETE", kind, old, old, agent)

    def _check_namespace(self, address: Address, name: str) -> None:
        if not address.kind.namespaced:
            return
        namespace = self._store.get(NAMESPACE, "", address.namespace or "")
        if namespace is None:
            raise not_found(NAMESPACE, address.namespace or "")
        if "deletionTimestamp" in namespace["metadata"]:
            raise namespace_terminating(address.kind, name, address.namespace or "")


def _empty(kind: Kind) -> Object:
    return {"apiVersion": kind.api_version, "kind": kind.name, **kind.empty}


def _writer(kind: Kind, subresource: str, query: Mapping[str, str], agent: str, maker: Maker) -> Writer:
    name = query.get("fieldManager") or agent.partition("/")[0]
    return Writer(name, kind.api_version, subresource, maker.time)


def _placed(address: Address, obj: Object, name: str) -> Object:
    """Return an object with its kind and namespace; refuse one with a different name or namespace."""
    kind, metadata = address.kind, obj.get("metadata") or {}
    if metadata.get("name", name) != name:
        raise bad_request(f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})")
    if metadata.get("namespace", address.namespace) != address.namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    identity: dict[str, Any] = {"apiVersion": kind.api_version, "kind": kind.name}
    if any(obj.get(key, value) != value for key, value in identity.items()):
        raise bad_request(f"{obj.get('kind')} in version {obj.get('apiVersion')} cannot be handled as a {kind.name}")
    return with_metadata({**identity, **obj}, name=name, namespace=address.namespace)


def _with_entries(obj: Object, managers: Managers) -> Object:
    return with_metadata(obj, managedFields=encoded(managers) or None)


def _managers(kind: Kind, old: Object, new: Object, subresource: str) -> Managers:
    """Return managedFields before a write: from the request, or else from the old object. A request may clear them."""
    live = old["metadata"].get("managedFields", [])
    asked = new["metadata"].get("managedFields")
    if not subresource and asked is not live and asked is not None:
        if asked == [{}] or (asked == [] and not kind.custom):
            return {}
        found = decoded(asked)
        if found:
            return found
    return decoded(live) or {}


def _other_uid(kind: Kind, name: str, uid: str, old: Object) -> Refused:
    why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old['metadata']['uid']}"
    return conflict(kind, name, why)


def _no_manager() -> Refused:
    cause = {"reason": "FieldValueRequired", "message": "Required value", "field": "fieldManager"}
    details = {"group": "meta.k8s.io", "kind": "PatchOptions", "causes": [cause]}
    message = 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch'
    return refused(422, "Invalid", message, details=details)
