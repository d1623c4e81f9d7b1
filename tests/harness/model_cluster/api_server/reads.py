"""Reads: one object, paged lists, and the events of a watch."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from model_cluster.api_server.answers import Response, bad_request, expired, not_found
from model_cluster.api_server.kinds import Address, Kind
from model_cluster.api_server.schema import Object
from model_cluster.api_server.selectors import Test, by_fields, by_labels
from model_cluster.api_server.store import Change, Expired, Store

_TOO_OLD = "The provided continue parameter is too old to display a consistent list result."


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a watch."""

    type: Literal["ADDED", "MODIFIED", "DELETED"]
    object: Object
    version: int


def got(store: Store, address: Address) -> Response:
    """Return an object."""
    found = store.get(address.kind, address.namespace or "", address.name)
    if found is None:
        raise not_found(address.kind, address.name)
    return Response(200, found)


def listed(store: Store, address: Address, query: Mapping[str, str]) -> Response:
    """Return a page of a list."""
    kind = address.kind
    token = query.get("continue", "")
    limit = int(query.get("limit") or 0)
    version, start = _decoded(token) if token else (_version(store, query), "")
    consistent = version >= 0
    version = version if consistent else store.version
    try:
        found = store.listed(kind, address.namespace, version)
    except Expired as error:
        again = _encoded(-1, start) if token else ""
        raise expired(_TOO_OLD if token else "The resourceVersion for the provided list is too old.", again) from error
    if start:
        found = [each for each in found if "/".join(each[0]) >= start]
    test = _test(query)
    items: list[Object] = []
    last = len(found)
    for index, (_place, obj) in enumerate(found):
        if limit and len(items) == limit:
            last = index
            break
        if test is None or test(obj):
            items.append(obj if kind.custom else {k: v for k, v in obj.items() if k not in ("apiVersion", "kind")})
    metadata: Object = {"resourceVersion": str(version)}
    if last < len(found):
        metadata["continue"] = _encoded(version, "/".join(found[last][0]))
        if test is None:
            metadata["remainingItemCount"] = len(found) - last
    body = {"kind": f"{kind.name}List", "apiVersion": kind.api_version, "metadata": metadata, "items": items}
    return Response(200, body)


def _version(store: Store, query: Mapping[str, str]) -> int:
    if query.get("resourceVersionMatch") == "Exact":
        return int(query["resourceVersion"])
    return store.version


def _test(query: Mapping[str, str]) -> Test | None:
    labels, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
    if labels and fields:
        return lambda obj: by_labels(labels)(obj) and by_fields(fields)(obj)
    if labels:
        return by_labels(labels)
    return by_fields(fields) if fields else None


def _encoded(version: int, start: str) -> str:
    return json.dumps({"rv": version, "start": start})


def _decoded(token: str) -> tuple[int, str]:
    try:
        found = json.loads(token)
        return int(found["rv"]), str(found["start"])
    except (ValueError, KeyError, TypeError) as error:
        raise bad_request("continue key is not valid") from error


def watched(store: Store, address: Address, since: int, label_selector: str) -> list[Event]:
    """Return the watch events of the changes after a version.

    Raises:
        Expired: some changes are compacted.
    """
    test = by_labels(label_selector) if label_selector else None
    found = []
    for change in store.changes(address.kind, since):
        if address.namespace is not None and change.namespace != address.namespace:
            continue
        event = _event(change, test)
        if event is not None:
            found.append(event)
    return found


def _event(change: Change, test: Test | None) -> Event | None:
    before = change.old is not None and (test is None or test(change.old))
    after = change.new is not None and (test is None or test(change.new))
    if after and change.new is not None:
        return Event("MODIFIED" if before else "ADDED", change.new, change.version)
    if not before or change.old is None:
        return None
    if change.gone is not None and (test is None or test(change.gone)):
        return Event("DELETED", change.gone, change.version)
    metadata = {**change.old["metadata"], "resourceVersion": str(change.version)}
    return Event("DELETED", {**change.old, "metadata": metadata}, change.version)


_META = "meta.k8s.io/v1"


def metadata_of(obj: Object) -> Object:
    """Return the metadata of an object as PartialObjectMetadata."""
    return {"kind": "PartialObjectMetadata", "apiVersion": _META, "metadata": obj["metadata"]}


def metadata_list(answer: Response) -> Response:
    """Return a list of metadata; the items of an empty one are null."""
    body = {"kind": "PartialObjectMetadataList", "apiVersion": _META, "metadata": answer.body["metadata"]}
    return Response(answer.status, {**body, "items": [metadata_of(item) for item in answer.body["items"]] or None})


def list_kind(group_version: str, kinds: tuple[Kind, ...]) -> Response:
    """Describe the kinds of a group and version."""
    resources = []
    for kind in kinds:
        resources.append({"name": kind.plural, "kind": kind.name, "namespaced": kind.namespaced})
        if kind.status:
            resources.append({"name": f"{kind.plural}/status", "kind": kind.name, "namespaced": kind.namespaced})
    body = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources}
    return Response(200, body)
