"""Field ownership: the changes of managedFields by an apply and by any other write.

After the API server's k8s.io/apimachinery/pkg/util/managedfields, and package `merge` of structured-merge-diff.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from model_cluster.api_server.fieldset import Fields, difference, intersection, named, paths, union
from model_cluster.api_server.schema import Json, Malformed, Object, Struct
from model_cluster.api_server.typed import compare, field_set, merge, remove, undeclared

BEFORE_FIRST_APPLY = "before-first-apply"
ANCIENT_CHANGES = "ancient-changes"
MOST_UPDATERS = 10

_LEAF: Fields = {}
_STRIPPED: Fields = {
    "f:apiVersion": _LEAF,
    "f:kind": _LEAF,
    "f:metadata": {
        ".": _LEAF,
        **{
            f"f:{name}": _LEAF
            for name in (
                "name",
                "namespace",
                "creationTimestamp",
                "selfLink",
                "uid",
                "clusterName",
                "generation",
                "managedFields",
                "resourceVersion",
            )
        },
    },
}


class Manager(NamedTuple):
    """The manager of an entry; entries of an apply are merged across versions."""

    name: str
    operation: str
    api_version: str
    subresource: str

    def __str__(self) -> str:
        shown = f'"{self.name}"' + (f' with subresource "{self.subresource}"' if self.subresource else "")
        return f"{shown} using {self.api_version}" if self.operation == "Update" else shown


@dataclass(frozen=True)
class Owned:
    """The fields owned by a manager."""

    fields: Fields
    api_version: str
    time: str | None = None


Managers = dict[Manager, Owned]


class Conflict(Exception):
    """An apply without force would change fields owned by other managers."""

    def __init__(self, fields: list[tuple[Manager, str]]) -> None:
        super().__init__(f"Apply failed with {len(fields)} conflict{'s' if len(fields) > 1 else ''}")
        self.fields = fields


class Untypable(Exception):
    """An applied object does not match its type."""


@dataclass(frozen=True)
class Writer:
    """The manager of a write, and its target."""

    name: str
    api_version: str
    subresource: str
    time: str

    def manager(self, operation: str) -> Manager:
        """Return the manager of the entry changed by the write."""
        return Manager(
            self.name or "unknown", operation, self.api_version if operation == "Update" else "", self.subresource
        )


def decoded(entries: Iterable[Json]) -> Managers | None:
    """Return managedFields as a table; None if they are malformed."""
    found: Managers = {}
    for entry in entries:
        operation = entry.get("operation")
        wrong = operation not in ("Apply", "Update") or entry.get("fieldsType") != "FieldsV1"
        if wrong or not entry.get("apiVersion"):
            return None
        version = entry["apiVersion"]
        manager = Manager(
            entry.get("manager", ""), operation, version if operation == "Update" else "", entry.get("subresource", "")
        )
        found[manager] = Owned(entry.get("fieldsV1", {}), version, entry.get("time"))
    return found


def encoded(managers: Managers) -> list[Json]:
    """Return a table as managedFields, in the API server's order."""

    def order(found: tuple[Manager, Owned]) -> tuple[str, ...]:
        manager, owned = found
        return manager.operation, owned.time or "", manager.name, owned.api_version, manager.subresource

    return [
        {
            "manager": manager.name,
            "operation": manager.operation,
            "apiVersion": owned.api_version,
            **({"time": owned.time} if owned.time else {}),
            "fieldsType": "FieldsV1",
            "fieldsV1": owned.fields,
            **({"subresource": manager.subresource} if manager.subresource else {}),
        }
        for manager, owned in sorted(managers.items(), key=order)
    ]


def without_entries(obj: Object) -> Object:
    """Return an object without managedFields."""
    if "managedFields" not in obj.get("metadata", {}):
        return obj
    return with_metadata(obj, managedFields=None)


def with_metadata(obj: Object, **changes: Json) -> Object:
    """Return an object with changed metadata fields; None removes a field."""
    metadata = {**obj.get("metadata", {}), **changes}
    return {**obj, "metadata": {name: value for name, value in metadata.items() if value is not None}}


def applied(
    kind: Struct, live: Object, config: Object, managers: Managers, writer: Writer, *, force: bool, ignored: Fields
) -> tuple[Object, Managers]:
    """Return an object after an apply, and its field ownership.

    `ignored` are the fields that this write cannot change: the status, or everything but the status.

    Raises:
        Conflict: without `force`, if other managers own changed fields.
        Untypable: a field is not declared, or a list item has no key or a duplicate one.
    """
    wrong = undeclared(kind, config)
    if wrong is not None:
        raise Untypable(f"{wrong}: field not declared in schema")
    try:
        fields = field_set(kind, config)
        merged = merge(kind, live, config)
    except Malformed as error:
        raise Untypable(str(error)) from error
    manager = writer.manager("Apply")
    last = managers.get(manager)
    owned = Owned(_without_ignored(fields, ignored), writer.api_version, writer.time)
    after = {**managers, manager: owned}
    # Usually the manager applies all fields that it applied before, and nothing is removed.
    goes = last is not None and difference(last.fields, fields)
    new = _pruned(kind, merged, last.fields, after) if last is not None and goes else merged
    after, _ = _rest(kind, live, new, after, manager, force=force, ignored=ignored)
    return new, _stripped(after, manager)


def _pruned(kind: Struct, merged: Object, last: Fields, managers: Managers) -> Object:
    """Return a merged object without the fields that the manager stopped applying, unless other managers own them."""
    last = named(kind, last)
    pruned = remove(kind, merged, last) or {}
    in_merged = named(kind, field_set_of_live(kind, merged))
    held: Fields = {}
    for owned in managers.values():
        held = union(held, owned.fields)
    kept = union(named(kind, field_set_of_live(kind, pruned)), named(kind, held))
    pruned = remove(kind, merged, difference(in_merged, kept)) or {}
    gone = difference(in_merged, named(kind, field_set_of_live(kind, pruned)))
    return remove(kind, merged, intersection(gone, last)) or {}


def field_set_of_live(kind: Struct, live: Object) -> Fields:
    """Return the fields of a stored object."""
    return field_set(kind, live)


def updated(
    kind: Struct, live: Object, new: Object, managers: Managers, writer: Writer, *, ignored: Fields
) -> Managers:
    """Return the field ownership after any other write: the writer owns its changes."""
    after, changed = _rest(kind, live, new, managers, None, force=True, ignored=ignored)
    manager = writer.manager("Update")
    mine = difference(changed, _STRIPPED)
    if mine:
        before = after.get(manager)
        fields = mine if before is None else union(mine, before.fields)
        after = {**after, manager: Owned(fields, writer.api_version, writer.time)}
    return _capped(after)


def _rest(
    kind: Struct, live: Object, new: Object, managers: Managers, but: Manager | None, *, force: bool, ignored: Fields
) -> tuple[Managers, Fields]:
    """Return the other managers' fields after a change, and the changed fields."""
    difference_found = compare(kind, live, new)
    changed = _without_ignored(difference_found.changed, ignored)
    removed = _without_ignored(difference_found.removed, ignored)
    conflicts = {
        manager: found
        for manager, owned in managers.items()
        if manager != but and (found := intersection(owned.fields, changed))
    }
    if conflicts and not force:
        raise Conflict([(manager, path) for manager, found in conflicts.items() for path in paths(found)])
    if not conflicts and not removed:
        return managers, changed
    after = {}
    for manager, owned in managers.items():
        fields = owned.fields
        if manager != but:
            fields = difference(difference(fields, conflicts.get(manager, {})), removed)
        if fields:
            after[manager] = owned if fields is owned.fields else Owned(fields, owned.api_version, owned.time)
    return after, changed


def _without_ignored(fields: Fields, ignored: Fields) -> Fields:
    """Return fields without some top-level fields and all fields below them."""
    if not ignored:
        return fields
    found = {}
    for element, below in fields.items():
        if element not in ignored:
            found[element] = below
        elif ignored[element]:
            rest = _without_ignored(below, ignored[element])
            if rest or not below:
                found[element] = rest
    return found


def _stripped(managers: Managers, manager: Manager) -> Managers:
    owned = managers.get(manager)
    if owned is None:
        return managers
    fields = difference(owned.fields, _STRIPPED)
    rest = {each: found for each, found in managers.items() if each != manager}
    return {**rest, manager: Owned(fields, owned.api_version, owned.time)} if fields else rest


def _capped(managers: Managers) -> Managers:
    """Return a table with at most ten entries of updates: the oldest ones are merged into one."""
    updaters = sorted(
        (manager for manager in managers if manager.operation == "Update"),
        key=lambda manager: (managers[manager].time or "", manager),
    )
    if len(updaters) <= MOST_UPDATERS:
        return managers
    found = dict(managers)
    first: dict[str, Manager] = {}
    count = len(updaters)
    for manager in updaters:
        if count <= MOST_UPDATERS:
            break
        owned = found[manager]
        if owned.api_version not in first:
            first[owned.api_version] = manager
            continue
        bucket = Manager(ANCIENT_CHANGES, "Update", owned.api_version, "")
        if bucket not in found:
            found[bucket] = found.pop(first[owned.api_version])
        del found[manager]
        found[bucket] = Owned(union(owned.fields, found[bucket].fields), owned.api_version, owned.time)
        count -= 1
    return found
