"""The API server's responses: objects, and a Status for each type of refusal."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from model_cluster.api_server.kinds import Address, Kind
from model_cluster.api_server.schema import Object


@dataclass(frozen=True)
class Response:
    """A response; its decoded JSON body must not be changed."""

    status: int
    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Refusal:
    """A policy's response when it denies an object."""

    status: int = 403
    reason: str = "Forbidden"
    message: str = "denied by a policy"
    causes: tuple[dict[str, str], ...] = ()


class Refused(Exception):
    """The request is refused."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.body.get("message", ""))
        self.response = response


def refused(
    status: int,
    reason: str,
    message: str,
    *,
    details: Object | None = None,
    metadata: Object | None = None,
) -> Refused:
    """Return a refusal with a Status."""
    body: Object = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": metadata or {},
        "status": "Failure",
        "message": message,
        **({"reason": reason} if reason else {}),
        **({"details": details} if details else {}),
        "code": status,
    }
    return Refused(Response(status, body))


def _details(kind: Kind, name: str) -> Object:
    return {
        **({"name": name} if name else {}),
        **({"group": kind.group} if kind.group else {}),
        "kind": kind.plural,
    }


def not_found(kind: Kind, name: str) -> Refused:
    """404: no such object."""
    return refused(404, "NotFound", f'{kind.resource} "{name}" not found', details=_details(kind, name))


def no_such_path() -> Refused:
    """404: no such resource."""
    return refused(404, "NotFound", "the server could not find the requested resource", details={})


def already_exists(kind: Kind, name: str) -> Refused:
    """409: an object with this name exists."""
    return refused(409, "AlreadyExists", f'{kind.resource} "{name}" already exists', details=_details(kind, name))


def conflict(kind: Kind, name: str, why: str) -> Refused:
    """409: a precondition on the object failed."""
    message = f'Operation cannot be fulfilled on {kind.resource} "{name}": {why}'
    return refused(409, "Conflict", message, details=_details(kind, name))


def unmet(kind: Kind, name: str, why: str) -> Refused:
    """409: a precondition of a deletion failed."""
    message = f'Operation cannot be fulfilled on {kind.kind} "{name}": {why}'
    return refused(409, "Conflict", message, details={**_details(kind, name), "kind": kind.name})


OUT_OF_DATE = "the object has been modified; please apply your changes to the latest version and try again"


def field_conflict(causes: Sequence[tuple[str, str]]) -> Refused:
    """409: other managers own fields that the apply changes; causes by manager and field."""
    told = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {manager}", "field": place}
        for manager, place in causes
    ]
    plural = "s" if len(told) > 1 else ""
    listed = "\n".join(f"- {cause['field']}: {cause['message']}" for cause in told)
    message = f"Apply failed with {len(told)} conflict{plural}: {listed}"
    return refused(409, "Conflict", message, details={"causes": told})


@dataclass(frozen=True)
class Wrong:
    """A validation error of a field."""

    reason: str
    message: str
    field: str


def invalid(kind: Kind, name: str, wrongs: Sequence[Wrong], *, by_plural: bool = False) -> Refused:
    """422: the object is invalid."""
    causes = [{"reason": wrong.reason, "message": wrong.message, "field": wrong.field} for wrong in wrongs]
    listed = ", ".join(f"{wrong.field}: {wrong.message}" for wrong in wrongs)
    called = kind.plural if by_plural else kind.name
    message = f'{called} "{name}" is invalid: {listed if len(wrongs) == 1 else f"[{listed}]"}'
    details = {**({"name": name} if name else {}), **({"group": kind.group} if kind.group else {})}
    return refused(422, "Invalid", message, details={**details, "kind": called, "causes": causes})


def bad_request(message: str) -> Refused:
    """400: the request is malformed."""
    return refused(400, "BadRequest", message)


def forbidden(address: Address, verb: str, user: str) -> Refused:
    """403: RBAC does not allow it."""
    kind = address.kind
    resource = kind.plural + (f"/{address.subresource}" if address.subresource else "")
    where = f'in the namespace "{address.namespace}"' if address.namespace is not None else "at the cluster scope"
    named = f' "{address.name}"' if address.name else ""
    message = (
        f'{kind.resource}{named} is forbidden: User "{user}" cannot {verb} resource "{resource}" '
        f'in API group "{kind.group}" {where}'
    )
    return refused(403, "Forbidden", message, details=_details(kind, address.name))


def namespace_terminating(kind: Kind, name: str, namespace: str) -> Refused:
    """403: nothing can be created in a terminating namespace."""
    why = f"unable to create new content in namespace {namespace} because it is being terminated"
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {namespace} is being terminated",
        "field": "metadata.namespace",
    }
    return refused(
        403,
        "Forbidden",
        f'{kind.resource} "{name}" is forbidden: {why}',
        details={**_details(kind, name), "causes": [cause]},
    )


def expired(message: str, token: str = "") -> Refused:
    """410: the requested version is compacted."""
    return refused(410, "Expired", message, metadata={"continue": token} if token else None)


def by_policy(kind: Kind, name: str, refusal: Refusal) -> Refused:
    """Return a policy's refusal as a response."""
    details = {**_details(kind, name), **({"causes": list(refusal.causes)} if refusal.causes else {})}
    return refused(refusal.status, refusal.reason, refusal.message, details=details)


def deleted(kind: Kind, obj: Object) -> Response:
    """200: the object is deleted."""
    metadata = obj["metadata"]
    details = {**_details(kind, metadata["name"]), "uid": metadata["uid"]}
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
    return Response(200, body)
