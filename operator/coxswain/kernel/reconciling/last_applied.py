"""What children were last brought to: without it, what isn't there can't be told from what was never there."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from coxswain.kernel.cache.store import Key
from coxswain.kernel.reconciling.retention import retain
from coxswain.kernel.reconciling.scaling import said
from coxswain.webapp.policy import within
from coxswain.webapp.spec import Manifest, WebApp


@dataclass(frozen=True)
class _Reached:
    uid: str
    generation: int
    scaling: tuple[Any, Any]
    """The replicas and the note of the manifest: an autoscaler changes these without a new generation."""
    left: tuple[str, ...]
    """Fields that were left to others."""


class LastApplied:
    """Of each child, the generation of the WebApp that it was as."""

    def __init__(self) -> None:
        self._of_webapp: dict[Key, dict[str, _Reached]] = {}

    def note(self, webapp: WebApp, manifest: Manifest, left: Iterable[str] = ()) -> None:
        """Note that a child is as its manifest says, but for fields that were left to others."""
        children = self._of_webapp.setdefault(_key(webapp), {})
        children[_child(manifest)] = _Reached(webapp.uid, webapp.generation, said(manifest), tuple(left))

    def had(self, webapp: WebApp, manifest: Manifest, field: str) -> bool:
        """Tell whether a child had a field as its manifest says: if it has not now, someone changed or removed it."""
        found = self._of_webapp.get(_key(webapp), {}).get(_child(manifest))
        wanted = (webapp.uid, webapp.generation, said(manifest))
        if found is None or (found.uid, found.generation, found.scaling) != wanted:
            return False
        return not any(within(field, other) or within(other, field) for other in found.left)

    def retain(self, key: Key, children: Collection[str]) -> None:
        """Forget all children of a WebApp but these, each given as kind/name."""
        retain(self._of_webapp, key, lambda child: child in children)

    def clear(self) -> None:
        """Forget all WebApps."""
        self._of_webapp.clear()

    def was_there(self, webapp: WebApp, manifest: Manifest) -> bool:
        """Tell whether this process has brought a child about before."""
        found = self._of_webapp.get(_key(webapp), {}).get(_child(manifest))
        return found is not None and found.uid == webapp.uid

    def forget(self, key: Key) -> None:
        """Forget the children of a WebApp that is gone."""
        self._of_webapp.pop(key, None)


def _key(webapp: WebApp) -> Key:
    return Key(webapp.namespace, webapp.name)


def _child(manifest: Manifest) -> str:
    return f"{manifest['kind']}/{manifest['metadata']['name']}"
