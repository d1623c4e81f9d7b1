"""Parses the method, path and query of an HTTP request into the verb and resource of the Kubernetes API."""

from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, unquote_plus

_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_OF_THE_NAMESPACE_ITSELF = ("status", "finalize")
_FALSE = ("0", "false")


@dataclass(frozen=True)
class RequestInfo:
    """The attributes of a request as in audit logs and RBAC; `resource` is empty for a non-resource request."""

    verb: str
    resource: str
    """The plural, with the subresource if any."""
    namespace: str
    name: str
    path: str
    query: dict[str, str]
    query_text: str
    """Decoded."""
    agent: str
    body_text: str = ""

    @property
    def is_watch(self) -> bool:
        """Whether the response is a stream of lines."""
        return self.verb == "watch"


def request_info(method: str, path: str, query_text: str = "", agent: str = "") -> RequestInfo:
    """Return the attributes of a request; `path` and `query_text` are still percent-encoded."""
    query: dict[str, str] = {}
    for key, value in parse_qsl(query_text, keep_blank_values=True):
        query.setdefault(key, value)  # of repeated parameters, the first counts
    asked = _resource_parts(unquote(path).strip("/").split("/"))
    if asked is None:
        return RequestInfo(method.lower(), "", "", "", unquote(path), query, unquote_plus(query_text), agent)
    namespace, parts = _split_namespace(asked)
    name = parts[1] if len(parts) > 1 else ""
    verb = _VERBS.get(method, "")
    if not name and verb == "get":
        verb = "watch" if _is_true(query, "watch") else "list"
        name = _selected_name(query)
    elif not name and verb == "delete":
        verb = "deletecollection"
    resource = "/".join([*parts[:1], *parts[2:3]])
    return RequestInfo(verb, resource, namespace, name, unquote(path), query, unquote_plus(query_text), agent)


def _resource_parts(parts: list[str]) -> list[str] | None:
    """Return the segments after the API version; None for discovery and for non-resource paths."""
    before = {"api": 2, "apis": 3}.get(parts[0])
    return None if before is None or len(parts) <= before else parts[before:]


def _split_namespace(parts: list[str]) -> tuple[str, list[str]]:
    if parts[0] != "namespaces" or len(parts) == 1:
        return "", parts
    if len(parts) > 2 and parts[2] not in _OF_THE_NAMESPACE_ITSELF:
        return parts[1], parts[2:]
    return parts[1], parts


def _is_true(query: dict[str, str], name: str) -> bool:
    return name in query and query[name].lower() not in _FALSE


def _selected_name(query: dict[str, str]) -> str:
    """Return the value of metadata.name in the field selector; empty if it has none."""
    for term in query.get("fieldSelector", "").split(","):
        key, operator, value = term.partition("=")
        if key == "metadata.name" and operator:
            return value.removeprefix("=")
    return ""
