"""Patches: JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7386). Both leave their arguments unchanged."""

from collections.abc import Sequence

from model_cluster.api_server.schema import Json, Object


class Unfit(Exception):
    """A patch does not fit the object: a missing path, or a failed test."""


def merge_patched(value: Json, patch: Json) -> Json:
    """Return a value after a merge patch."""
    if not isinstance(patch, dict):
        return patch
    found = dict(value) if isinstance(value, dict) else {}
    for name, below in patch.items():
        if below is None:
            found.pop(name, None)
        else:
            found[name] = merge_patched(found.get(name), below)
    return found


def json_patched(value: Json, operations: Sequence[Object]) -> Json:
    """Return a value after a JSON Patch.

    Raises:
        Unfit: the patch does not fit.
    """
    for operation in operations:
        path = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
        how = operation["op"]
        if how == "test":
            if _at(value, path) != operation.get("value"):
                raise Unfit(f"testing value {operation['path']} failed")
        elif how in ("add", "replace"):
            value = _with(value, path, operation.get("value"), replace=how == "replace")
        elif how == "remove":
            value = _without(value, path)
        else:
            raise Unfit(f"unexpected kind: {how}")
    return value


def _at(value: Json, path: list[str]) -> Json:
    for part in path:
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list):
            value = value[_index(part, len(value) - 1)]
        else:
            return None
    return value


def _index(part: str, most: int) -> int:
    if not part.isdigit() or int(part) > most:
        raise Unfit(f"unable to access invalid index: {part}")
    return int(part)


def _with(value: Json, path: list[str], new: Json, *, replace: bool) -> Json:
    if not path:
        return new
    part, rest = path[0], path[1:]
    if isinstance(value, dict):
        if rest and part not in value:
            raise Unfit(f"missing key: {part}")
        return {**value, part: _with(value.get(part), rest, new, replace=replace)}
    if isinstance(value, list):
        if rest or replace:
            index = _index(part, len(value) - 1)
            return [*value[:index], _with(value[index], rest, new, replace=replace), *value[index + 1 :]]
        index = len(value) if part == "-" else _index(part, len(value))
        return [*value[:index], new, *value[index:]]
    raise Unfit(f"nothing to go into at {part}")


def _without(value: Json, path: list[str]) -> Json:
    part, rest = path[0], path[1:]
    if isinstance(value, dict) and part in value:
        if rest:
            return {**value, part: _without(value[part], rest)}
        return {name: below for name, below in value.items() if name != part}
    if isinstance(value, list):
        index = _index(part, len(value) - 1)
        middle = [_without(value[index], rest)] if rest else []
        return [*value[:index], *middle, *value[index + 1 :]]
    raise Unfit(f"Unable to remove nonexistent key: {part}")
