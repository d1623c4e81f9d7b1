"""A stand-in for the writer, for what the real API server can't be made to answer at will."""

from collections.abc import Callable
from typing import Any

from coxswain.kube.apply import Writer
from coxswain.kube.errors import Refused
from coxswain.kube.kinds import WEBAPP, kind_of
from coxswain.kube.observed import Observed, observe
from coxswain.webapp.spec import Manifest, Status, WebApp
from unit.objects import stored


def refusal(status: int, message: str = "no", **details: Any) -> Refused:
    """A refusal as the API server words it."""
    return Refused(status, {"reason": "Refused", "message": message, "details": details})


class RecordingWriter(Writer):
    """Answers as if all went well, unless told otherwise; and counts."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.version = 100
        self.answers: dict[str, Callable[[], Observed]] = {}

    def fail(self, request: str, error: Exception) -> None:
        """Let a request such as `create Service` fail from now on."""

        def raising() -> Observed:
            raise error

        self.answers[request] = raising

    def answer(self, request: str, observed: Observed) -> None:
        """Let a request be answered with an object."""
        self.answers[request] = lambda: observed

    async def create(self, manifest: Manifest) -> Observed:
        return self._answer(f"create {manifest['kind']}", lambda: self._stored(manifest))

    async def update(self, manifest: Manifest, observed: Observed, *, force: bool) -> Observed:  # noqa: ARG002
        return self._answer(f"update {manifest['kind']}", lambda: self._stored(manifest, observed.uid))

    async def remove(self, observed: Observed) -> None:
        self._answer(f"remove {observed.kind}", lambda: observed)

    async def look(self, manifest: Manifest) -> Observed:
        return self._answer(f"look {manifest['kind']}", lambda: self._stored(manifest))

    async def look_at_webapp(self, webapp: WebApp) -> Observed:
        return self._answer("look WebApp", lambda: observe(WEBAPP, self._raw(webapp)))

    def _raw(self, webapp: WebApp) -> dict[str, Any]:
        metadata = {"name": webapp.name, "namespace": webapp.namespace, "uid": webapp.uid, "resourceVersion": "1"}
        return {"metadata": {**metadata, "generation": webapp.generation}, "spec": webapp.spec}

    async def write_status(self, webapp: Observed, status: Status) -> Observed:
        def changed() -> Observed:
            self.version += 1
            metadata = {
                "name": webapp.name,
                "namespace": webapp.namespace,
                "uid": webapp.uid,
                "resourceVersion": str(self.version),
                "generation": webapp.content["metadata"]["generation"],
            }
            return observe(WEBAPP, {"metadata": metadata, "spec": webapp.content["spec"], "status": status})

        return self._answer("status", changed)

    def _stored(self, manifest: Manifest, uid: str | None = None) -> Observed:
        self.version += 1
        uid = uid or f"{manifest['kind']}-{self.version}"
        return observe(kind_of(manifest), stored(manifest, version=self.version, uid=uid))

    def _answer(self, request: str, usual: Callable[[], Observed]) -> Observed:
        self.sent.append(request)
        return self.answers.get(request, usual)()
