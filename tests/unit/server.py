"""A stand-in for the writer, with responses that a real API server does not give on demand."""

import dataclasses
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

from coxswain.kernel.api.errors import Refused
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.objects.field_paths import ManagedFieldsEntry, Path, minus, owns
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.objects.status_fields import Status
from coxswain.webapp.kinds import DEPLOYMENT, WEBAPP
from coxswain.webapp.spec import WebApp
from rendered import kind_of, observe
from unit.objects import stored

_REPLICAS = ("f:spec", "f:replicas")


def refusal(status: int, message: str = "no", **details: Any) -> Refused:
    """Return a refusal in the API server's wording."""
    return Refused(status, {"reason": "Refused", "message": message, "details": details})


class RecordingWriter(Writer):
    """Responds with success unless scripted otherwise, and records the requests."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        """The requests, without those for revisions."""
        self.recorded: list[str] = []
        """The requests for revisions: each change of the spec causes a create and, when it is Ready, an update."""
        self.answers: dict[str, Callable[[], Projection]] = {}
        self.manifests: dict[str, Manifest] = {}
        """The last applied manifest, by kind."""
        self.deliver: Callable[[str, Projection], Projection] = lambda _, answer: answer
        """Changes the answer of a request, or loses it by an error."""
        self._check: Callable[[], None] | None = None
        self._versions = [100]

    @property
    def version(self) -> int:
        """The last resourceVersion, also of the writers with a check."""
        return self._versions[-1]

    @version.setter
    def version(self, version: int) -> None:
        self._versions.append(version)

    def fail(self, request: str, error: Exception) -> None:
        """Fail a request such as `create Service` from now on."""

        def raising() -> Projection:
            raise error

        self.answers[request] = raising

    def answer(self, request: str, observed: Projection) -> None:
        """Answer a request with this object."""
        self.answers[request] = lambda: observed

    async def create(self, manifest: Manifest) -> Projection:
        return self._answer(f"create {manifest['kind']}", lambda: self._stored(manifest))

    async def update(self, manifest: Manifest, observed: Projection, *, force: bool) -> Projection:  # noqa: ARG002
        self.manifests[manifest["kind"]] = manifest
        return self._answer(f"update {manifest['kind']}", lambda: self._with_replicas(manifest, observed))

    async def keep(self, observed: Projection, path: Path, value: Any) -> Projection:  # noqa: ARG002
        def kept() -> Projection:
            self.version += 1
            entry = ManagedFieldsEntry("coxswain-replicas", {"f:spec": {"f:replicas": {}}}, "Apply")
            return dataclasses.replace(observed, version=self.version, others=(*observed.others, entry))

        return self._answer(f"keep {value}", kept)

    async def remove(self, observed: Projection, *, orphan: bool = False) -> None:
        self._answer(f"remove {observed.kind}" + (" but not its pods" if orphan else ""), lambda: observed)

    async def release(self, observed: Projection, is_former: Callable[[str, str], bool]) -> Projection:
        def released() -> Projection:
            self.version += 1
            owned = observed.owned or {}
            others = tuple(
                entry._replace(fields=minus(entry.fields, owned))
                if is_former(entry.manager, entry.operation)
                else entry
                for entry in observed.others
            )
            return dataclasses.replace(observed, version=self.version, others=others)

        return self._answer(f"release {observed.kind}", released)

    async def read(self, manifest: Manifest) -> Projection:
        return self._answer(f"look {manifest['kind']}", lambda: self._stored(manifest))

    async def read_record(self, kind: Kind, namespace: str, name: str) -> Projection:
        """Fail: the WebApps of these tests do not roll back."""
        raise AssertionError(f"{kind} {namespace}/{name} decides nothing")

    def checking(self, check: Callable[[], None]) -> "RecordingWriter":
        checked = copy(self)
        checked._check = check
        return checked

    async def read_parent(self, parent: Any) -> Projection:
        return self._answer("look WebApp", lambda: observe(WEBAPP, self._raw(parent)))

    def _raw(self, webapp: WebApp) -> dict[str, Any]:
        metadata = {"name": webapp.name, "namespace": webapp.namespace, "uid": webapp.uid, "resourceVersion": "1"}
        return {"metadata": {**metadata, "generation": webapp.generation}, "spec": webapp.spec}

    async def write_status(self, parent: Projection, status: Status) -> Projection:
        def changed() -> Projection:
            self.version += 1
            metadata = {
                "name": parent.name,
                "namespace": parent.namespace,
                "uid": parent.uid,
                "resourceVersion": str(self.version),
                "generation": parent.content["metadata"]["generation"],
            }
            return observe(WEBAPP, {"metadata": metadata, "spec": parent.content["spec"], "status": status})

        return self._answer("status", changed)

    async def remove_from_status(self, parent: Projection, pointers: Sequence[str]) -> Projection:
        return self._answer(f"status without {', '.join(pointers)}", lambda: parent)

    def _stored(self, manifest: Manifest, uid: str | None = None) -> Projection:
        self.version += 1
        uid = uid or f"{manifest['kind']}-{self.version}"
        return observe(kind_of(manifest), stored(manifest, version=self.version, uid=uid))

    def _with_replicas(self, manifest: Manifest, before: Projection) -> Projection:
        """Apply a manifest. Omitted replicas are reset to 1 if we were their only owner."""
        answer = self._stored(manifest, before.uid)
        if before.kind is not DEPLOYMENT or "replicas" in manifest["spec"]:
            return answer
        ours, *theirs = (owns(fields, _REPLICAS) for fields in (before.owned or {}, *(e.fields for e in before.others)))
        count = 1 if ours and not any(theirs) else before.content["spec"].get("replicas", 1)
        spec = {**answer.content["spec"], "replicas": count}
        return dataclasses.replace(answer, content={**answer.content, "spec": spec}, others=before.others)

    def _answer(self, request: str, usual: Callable[[], Projection]) -> Projection:
        if not request.startswith(("look ", "status")):
            assert self._check is not None, f"sent without the check of the guard: {request}"
            self._check()
        (self.recorded if request.endswith(" ControllerRevision") else self.sent).append(request)
        return self.deliver(request, self.answers.get(request, usual)())
