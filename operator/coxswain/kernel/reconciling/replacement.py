"""Replacement: an object with a wrong field that cannot be changed in place is deleted and created again."""

from dataclasses import dataclass

from coxswain.kernel.objects.kinds import DEPLOYMENT
from coxswain.kernel.objects.projection import Projection
from coxswain.webapp.identity import REPLICAS_ANNOTATION
from coxswain.webapp.scaling import AUTOSCALED
from coxswain.webapp.spec import Manifest


@dataclass(frozen=True)
class Deletion:
    """A deleted object whose successor does not exist yet."""

    observed: Projection
    manifest: Manifest
    """Its desired state at that time."""
    field: str
    """The field that could not be changed."""
    answered: bool = False
    """Whether the DELETE was answered. If not, it may or may not have been carried out."""

    def is_in_progress(self, live: Projection) -> bool:
        """Tell whether this object was deleted: its DELETE was answered, or it is terminating.

        The answer of a DELETE has no resourceVersion, so the end is known from the watch alone.
        """
        return self.observed.uid == live.uid and (self.answered or live.going)


def successor(manifest: Manifest, deletion: Deletion | None) -> Manifest:
    """Return the manifest to create an object with: a Deployment keeps the replicas of its predecessor.

    The pods of the predecessor still run, and the new Deployment adopts them. The annotation about the owner of the
    count goes over as well.
    """
    if deletion is None or manifest["kind"] != DEPLOYMENT.kind:
        return manifest
    note = deletion.manifest["metadata"].get("annotations", {}).get(REPLICAS_ANNOTATION)
    if note is None and "replicas" in deletion.manifest["spec"]:
        return manifest
    # Without count and annotation it was unknown whether an autoscaler has the field: that is found out later.
    note = note or AUTOSCALED
    annotations = {**manifest["metadata"].get("annotations", {}), REPLICAS_ANNOTATION: note}
    count = deletion.manifest["spec"].get("replicas", deletion.observed.content.get("spec", {}).get("replicas", 1))
    return {
        **manifest,
        "metadata": {**manifest["metadata"], "annotations": annotations},
        "spec": {**manifest["spec"], "replicas": count},
    }
