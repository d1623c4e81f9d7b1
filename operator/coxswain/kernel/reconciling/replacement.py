"""Replacement: a child that can't become as desired in place is deleted and made anew, where nobody misses it."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from coxswain.kernel.api.errors import Refused
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.cache.store import Key
from coxswain.kernel.objects.kinds import DEPLOYMENT, Kind, kind_of
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.retention import retain
from coxswain.webapp.identity import REPLICAS_ANNOTATION
from coxswain.webapp.immutable import Obstacle, Remedy
from coxswain.webapp.scaling import AUTOSCALED
from coxswain.webapp.spec import Manifest, WebApp


@dataclass(frozen=True)
class _Deleted:
    observed: Projection
    manifest: Manifest
    """What it should have been."""
    field: str
    """What could not be changed."""
    answered: bool = False
    """Whether the DELETE was answered: if it was not, it may or may not have been carried out."""


class Replacements:
    """Children that were deleted and are not there again yet."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._of_webapp: dict[Key, dict[tuple[Kind, str], _Deleted]] = {}

    async def delete(self, webapp: WebApp, manifest: Manifest, observed: Projection, found: Obstacle) -> None:
        """Delete an object exactly as it was observed, to make it as the manifest says.

        The object is noted before the request, since the answer may be lost while the object goes. An unanswered DELETE
        is sent again: its preconditions protect any newer object.

        Raises:
            RequestFailed: it could not be deleted; 409 if it has changed since.
        """
        place, deleted = (observed.kind, observed.name), _Deleted(observed, manifest, found.field)
        noted = self._of_webapp.setdefault(Key(webapp.namespace, webapp.name), {})
        earlier = noted.get(place)
        noted[place] = deleted
        try:
            await self._writer.remove(observed, orphan=found.remedy is Remedy.REPLACE_AROUND_PODS)
        except Refused as error:
            gone = error.status == 404 and not error.by_admission
            if error.status < 500 and not gone:
                # An earlier DELETE that was not answered may be why the object has changed: then it is going.
                if earlier is not None and earlier.observed.uid == observed.uid:
                    noted[place] = earlier
                else:
                    del noted[place]
            if not gone:
                raise
        noted[place] = replace(deleted, answered=True)

    def under_way(self, webapp: WebApp, observed: Projection) -> str | None:
        """Return for which field an object was deleted, if a DELETE was answered or the object is going.

        The answer of a DELETE has no resourceVersion: that it is gone the watch is to tell.
        """
        deleted = self._of(webapp).get((observed.kind, observed.name))
        if deleted is None or deleted.observed.uid != observed.uid:
            return None
        return deleted.field if deleted.answered or observed.going else None

    def successor(self, webapp: WebApp, manifest: Manifest) -> Manifest:
        """Return the manifest to create a child with: of a Deployment with the replicas that the one before had.

        Its pods are there and go over to the new one, and so does the note on whose the count is.
        """
        deleted = self._of(webapp).get((kind_of(manifest), manifest["metadata"]["name"]))
        if deleted is None or manifest["kind"] != DEPLOYMENT.kind:
            return manifest
        note = deleted.manifest["metadata"].get("annotations", {}).get(REPLICAS_ANNOTATION)
        if note is None and "replicas" in deleted.manifest["spec"]:
            return manifest
        # Without count and note it was unknown whether an autoscaler has the field: that is found out later.
        note = note or AUTOSCALED
        annotations = {**manifest["metadata"].get("annotations", {}), REPLICAS_ANNOTATION: note}
        count = deleted.manifest["spec"].get("replicas", deleted.observed.content.get("spec", {}).get("replicas", 1))
        return {
            **manifest,
            "metadata": {**manifest["metadata"], "annotations": annotations},
            "spec": {**manifest["spec"], "replicas": count},
        }

    def deleted(self, webapp: WebApp, manifest: Manifest) -> bool:
        """Tell whether a child was deleted to be made anew, and is not there again."""
        return (kind_of(manifest), manifest["metadata"]["name"]) in self._of(webapp)

    def not_needed(self, webapp: WebApp, observed: Projection) -> None:
        """Forget an unanswered DELETE of an object that is there and needs no replacement."""
        self._of(webapp).pop((observed.kind, observed.name), None)

    def end(self, webapp: WebApp, created: Projection) -> bool:
        """Forget a replacement that is done; tell whether there was one."""
        return self._of(webapp).pop((created.kind, created.name), None) is not None

    def clear(self) -> None:
        """Forget all WebApps."""
        self._of_webapp.clear()

    def forget(self, key: Key) -> None:
        """Forget all about a WebApp that is gone."""
        self._of_webapp.pop(key, None)

    def retain(self, key: Key, children: Collection[str]) -> None:
        """Forget all children of a WebApp but these, each given as kind/name."""
        retain(self._of_webapp, key, lambda place: f"{place[0].kind}/{place[1]}" in children)

    def _of(self, webapp: WebApp) -> dict[tuple[Kind, str], _Deleted]:
        return self._of_webapp.get(Key(webapp.namespace, webapp.name), {})
