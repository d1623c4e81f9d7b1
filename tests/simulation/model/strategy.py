"""What the API server makes of an object before it stores it: generations, identities, what may not change."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from simulation.model.answers import OUT_OF_DATE, conflict, invalid
from simulation.model.defaults import allocated, defaulted
from simulation.model.kinds import DEPLOYMENT, NAMESPACE, SERVICE, Kind
from simulation.model.managed import with_metadata
from simulation.model.schema import Object, webapp
from simulation.model.validation import of_change, of_new


@dataclass(frozen=True)
class Maker:
    """Makes what is new."""

    now: Callable[[], datetime]
    new_uid: Callable[[], str]
    new_address: Callable[[], str]

    @property
    def time(self) -> str:
        """The time, as objects bear it."""
        return self.now().strftime("%Y-%m-%dT%H:%M:%SZ")


def created(kind: Kind, obj: Object, maker: Maker) -> Object:
    """Return an object as it is to be stored first.

    Raises:
        Refused: it is not valid.
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
        obj = allocated(obj, maker.new_address)
    wrongs = of_new(kind, obj)
    if wrongs:
        raise invalid(kind, obj["metadata"].get("name", ""), wrongs)
    return obj


def changed(kind: Kind, old: Object, new: Object, subresource: str) -> Object:
    """Return an object as it is to be stored in the place of an old one.

    Raises:
        Refused: it is not valid, or not made from the old one.
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
    if kind is SERVICE:
        new = _same_address(old, new)
    if kind.generation and not subresource and _has_other_content(kind, old, new):
        new = with_metadata(new, generation=before["generation"] + 1)
    wrongs = of_change(kind, old, new, subresource)
    if wrongs:
        raise invalid(kind, before["name"], wrongs)
    return new


def check_version(kind: Kind, old: Object, new: Object) -> None:
    """Refuse an object that was made from another version."""
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


def _same_address(old: Object, new: Object) -> Object:
    """Return a Service with the address that it had, if it names none."""
    kept = {
        name: old["spec"][name]
        for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
        if name in old["spec"] and not new["spec"].get(name)
    }
    return {**new, "spec": {**new["spec"], **kept}} if kept else new


def _has_other_content(kind: Kind, old: Object, new: Object) -> bool:
    if kind is DEPLOYMENT and old["metadata"].get("annotations") != new["metadata"].get("annotations"):
        return True
    outside = ("metadata", "status")
    return {name: value for name, value in old.items() if name not in outside} != {
        name: value for name, value in new.items() if name not in outside
    }


def is_read_default(kind: Kind, obj: Object) -> bool:
    """Tell whether the status of an object is a default that was never stored, but filled in when it is read.

    The next write stores it, even if it changes nothing else.
    """
    return kind.custom and obj.get("status") is webapp()[1]["properties"]["status"].get("default")


def with_stored_status(kind: Kind, obj: Object) -> Object:
    """Return an object whose status is stored from now on, even if it is the default."""
    return {**obj, "status": dict(obj["status"])} if is_read_default(kind, obj) else obj


def same(old: Object, new: Object) -> bool:
    """Tell whether nothing changes but times in managedFields: such a write is not stored."""
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
