"""Who makes a Deployment's pods fail Pod Security `restricted`."""

from coxswain.kernel.objects.field_paths import Path, owns, text
from coxswain.kernel.objects.projection import FIELD_MANAGER, Projection
from coxswain.webapp.co_writers import UNKNOWN
from coxswain.webapp.pod_security import Violation, violations


def violations_of(deployment: Projection) -> list[Violation]:
    """Return the fields of a Deployment's pod template that fail `restricted`, with the managers that set them."""
    template = deployment.content.get("spec", {}).get("template", {})
    return [Violation(text(place), _manager(place, deployment)) for place in violations(template)]


def _manager(place: Path, deployment: Projection) -> str:
    """Return the manager of a place; of a field that is missing the manager of the container that lacks it."""
    for end in range(len(place), 3, -1):
        for entry in deployment.others:
            if entry.manager != FIELD_MANAGER and owns(entry.fields, place[:end]):
                return entry.manager
    return UNKNOWN
