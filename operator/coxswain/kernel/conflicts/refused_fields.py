"""Find the manager of a field that the API server has refused.

A validation error names a list item by its index in the merged object, as in spec.ports[1].nodePort. Nobody stores that
object, so the manager of an item is known only if the manifest has no items of the list.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from coxswain.kernel.objects.field_paths import Fields, ManagedFieldsEntry
from coxswain.kernel.objects.manifests import Manifest

_ELEMENT = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")
_ITEMS = ("k", "v", "i")


def manager_of(field: str, manifest: Manifest, others: Iterable[ManagedFieldsEntry]) -> str | None:
    """Return the manager that has set a field; None if the manifest sets it, or may, or if nobody is known to.

    Args:
        field: the field, as a validation error names it.
        manifest: the refused manifest.
        others: the managedFields entries of other managers.
    """
    elements = [key or name for key, name in _ELEMENT.findall(field)]
    if _sets(manifest, elements):
        return None
    return next((each.manager for each in others if each.fields and _owns(each.fields, elements)), None)


def _sets(value: Any, elements: Sequence[str]) -> bool:
    """Tell whether a manifest has a value at a field, or may have one in an item of a list."""
    if not elements:
        return True
    if isinstance(value, list):
        return bool(value)
    return isinstance(value, Mapping) and elements[0] in value and _sets(value[elements[0]], elements[1:])


def _owns(fields: Fields, elements: Sequence[str]) -> bool:
    """Tell whether a field set contains a field. An atomic one has no fields below it."""
    if not elements or not fields:
        return True
    first, rest = elements[0], elements[1:]
    known = [each for each in fields if each == f"f:{first}" or (first.isdigit() and each.partition(":")[0] in _ITEMS)]
    return any(_owns(fields[each], rest) for each in known)
