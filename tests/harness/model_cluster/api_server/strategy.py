"""The API server's preparation of an object before it is stored: generation, identity, immutable fields."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from model_cluster.api_server.answers import OUT_OF_DATE, conflict, invalid
from model_cluster.api_server.defaults import defaulted
from model_cluster.api_server.kinds import DEPLOYMENT, NAMESPACE, SERVICE, Kind
from model_cluster.api_server.managed import with_metadata
from model_cluster.api_server.schema import Object
from model_cluster.api_server.services import allocated, changed_service
from model_cluster.api_server.validation import of_change, of_new


@dataclass(frozen=True)
class Maker:
    """Sources of new values."""

    now: Callable[[], datetime]
    new_uid: Callable[[], str]
    new_address: Callable[[], str]
    new_node_port: Callable[[], int]

    @property
    def time(self) -> str:
        """Return the time in the format of objects."""
        return self.now().strftime("%Y-%m-%dT%H:%M:%SZ")


def created(kind: Kind, obj: Object, maker: Maker) -> Object:
    """Return an object in the form stored at creation.

    Raises:
        Refused: the object is invalid.
    """
    if kind.status:
        obj = {name: value for name, value in obj.items() if name != "status"}
    obj = with_metadata(
        obj,
        uid=maker.new_uid(),
        creationTimestamp=maker.time,
        deletionTimestamp=None,
        deletionGracePeriodSeconds=None,
        resourceVersion=None,
        selfLink=None,
        generation=1 if kind.generation else None,
    )
    obj = defaulted(kind, obj)
    if kind is NAMESPACE:
        obj = {**obj, "spec": {"finalizers": ["kubernetes"]}}
    if kind is SERVICE:
        obj = allocated(obj, maker.new_address, maker.new_node_port)
    wrongs = of_new(kind, obj)
    if wrongs:
        raise invalid(kind, obj["metadata"].get("name", ""), wrongs)
    return obj


def changed(kind: Kind, old: Object, new: Object, subresource: str, maker: Maker) -> Object:
    """Return an object in the form that replaces an old one.

    Raises:
        Refused: the object is invalid, or not based on the old one.
    """
    check_version(kind, old, new)
    entries = new["metadata"].get("managedFields")
    if subresource:
        new = _status_changed(kind, old, new)
    elif kind.status:
        new = {**new, "status": old["status"]} if "status" in old else _without_status(new)
    before = old["metadata"]
    kept = {
        name: before.get(name)
        for name in ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")
    }
    uid = new["metadata"].get("uid") or before["uid"]
    new = with_metadata(new, **kept, uid=uid, resourceVersion=before["resourceVersion"], managedFields=entries)
    if kind is SERVICE and not subresource:
        new = changed_service(old, new, maker.new_address, maker.new_node_port)
    if kind.generation and not subresource and _has_other_content(kind, old, new):
        new = with_metadata(new, generation=before["generation"] + 1)
    wrongs = of_change(kind, old, new, subresource)
    if wrongs:
        raise invalid(kind, before["name"], wrongs)
    return new


def check_version(kind: Kind, old: Object, new: Object) -> None:
    """Refuse an object based on another resourceVersion."""
    version = new["metadata"].get("resourceVersion")
    if version and version != old["metadata"]["resourceVersion"]:
        raise conflict(kind, old["metadata"]["name"], OUT_OF_DATE)


def _without_status(obj: Object) -> Object:
    return {name: value for name, value in obj.items() if name != "status"}


def _status_changed(kind: Kind, old: Object, new: Object) -> Object:
    if kind.custom:
        return {**_without_status(old), **({"status": new["status"]} if "status" in new else {})}
    spec = {"spec": old["spec"]} if "spec" in old else {}
    found = {**new, **spec}
    return with_metadata(found, labels=old["metadata"].get("labels")) if kind is DEPLOYMENT else found


def _has_other_content(kind: Kind, old: Object, new: Object) -> bool:
    if kind is DEPLOYMENT and old["metadata"].get("annotations") != new["metadata"].get("annotations"):
        return True
    outside = ("metadata", "status")
    return {name: value for name, value in old.items() if name not in outside} != {
        name: value for name, value in new.items() if name not in outside
    }


def is_read_default(kind: Kind, obj: Object) -> bool:
    """Return whether an object's status is a default that was filled in on read and never stored.

    The next write stores it, even without other changes.
    """
    if kind.schema is None:
        return False
    default = kind.schema["properties"].get("status", {}).get("default")
    return default is not None and obj.get("status") is default


def with_stored_status(kind: Kind, obj: Object) -> Object:
    """Return an object whose status is stored from now on, even if it is the default."""
    return {**obj, "status": dict(obj["status"])} if is_read_default(kind, obj) else obj


def same(old: Object, new: Object) -> bool:
    """Return whether only times in managedFields differ: such a write is not stored."""
    if any(old.get(name) != new.get(name) for name in {**old, **new} if name != "metadata"):
        return False
    before, after = old["metadata"], new["metadata"]
    if any(before.get(name) != after.get(name) for name in {**before, **after} if name != "managedFields"):
        return False
    entries = [
        sorted(
            (
                {name: value for name, value in entry.items() if name != "time"}
                for entry in each.get("managedFields", [])
            ),
            key=lambda entry: (entry["operation"], entry["manager"], entry["apiVersion"], entry.get("subresource", "")),
        )
        for each in (before, after)
    ]
    return entries[0] == entries[1]
