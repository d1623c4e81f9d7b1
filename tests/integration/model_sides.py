"""The real API server and its model, with the same requests; each side remembers its own uids and versions."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from cluster import ControlPlane
from cluster.clients import direct_session
from model_cluster.api_server import ApiServer, Response

TIMEOUT = 30.0
ROOT = Path(__file__).parents[2]
CRDS = [
    ROOT / "crds" / "webapps.yaml",
    ROOT / "operator" / "example" / "crd.yaml",
    ROOT / "tests" / "simulation" / "workloads" / "webapp" / "httproutes.yaml",
]
OPERATOR = "system:serviceaccount:coxswain-system:coxswain"


@dataclass(frozen=True)
class Request:
    """A request, with placeholders for values that differ between the sides."""

    method: str
    path: str
    body: Any = None
    content_type: str = ""
    agent: str = "tester/1"
    query: Mapping[str, str] = field(default_factory=dict)
    metadata_only: bool = False
    """Whether a LIST asks for PartialObjectMetadataList."""


class Server(Protocol):
    """A server of requests and watches."""

    def send(self, request: Request) -> Response:
        """Send a request."""

    def watch(self, path: str, since: int, selector: str, last: str) -> list[tuple[str, Any]]:
        """Return the events since a version, up to the creation of the object with the last name."""


class Real:
    """The API server of a throwaway Kubernetes."""

    def __init__(self, cluster: ControlPlane) -> None:
        self._session = direct_session(cluster.ca_file, cluster.token)
        self._url = cluster.url

    def impersonate(self, user: str) -> None:
        """Impersonate another user in later requests."""
        self._session.headers["Impersonate-User"] = user

    def send(self, request: Request) -> Response:
        headers = {"User-Agent": request.agent}
        if request.metadata_only:
            headers["Accept"] = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
        if request.body is not None:
            headers["Content-Type"] = request.content_type or "application/json"
        answer = self._session.request(
            request.method,
            self._url + request.path,
            params=dict(request.query),
            data=None if request.body is None else json.dumps(request.body),
            headers=headers,
            timeout=TIMEOUT,
        )
        body = answer.json() if "json" in answer.headers.get("Content-Type", "") else {"kind": "Status"}
        return Response(answer.status_code, body)

    def watch(self, path: str, since: int, selector: str, last: str) -> list[tuple[str, Any]]:
        query = {"watch": "true", "resourceVersion": str(since), "labelSelector": selector, "timeoutSeconds": "20"}
        answer = self._session.get(self._url + path, params=query, stream=True, timeout=TIMEOUT)
        return list(_until(last, answer.iter_lines()))


class Model:
    """The model."""

    def __init__(self) -> None:
        self.api = ApiServer(
            CRDS,
            restricted_agent="coxswain",
            restricted_user=OPERATOR,
            now=lambda: datetime.now(UTC),
            new_uid=lambda: str(uuid4()),
        )

    def send(self, request: Request) -> Response:
        return self.api.request(
            request.method,
            request.path,
            query=request.query,
            body=request.body,
            content_type=request.content_type,
            user_agent=request.agent,
            metadata_only=request.metadata_only,
        )

    def watch(self, path: str, since: int, selector: str, last: str) -> list[tuple[str, Any]]:
        events: list[tuple[str, Any]] = [
            (event.type, event.object) for event in self.api.watch_events(path, since=since, label_selector=selector)
        ]
        assert events[-1][1]["metadata"]["name"] == last, "the last change is the last event"
        return events


def _until(last: str, lines: Iterator[bytes]) -> Iterator[tuple[str, Any]]:
    for line in lines:
        event = json.loads(line)
        yield event["type"], event["object"]
        if event["object"]["metadata"].get("name") == last:
            return
    raise AssertionError(f"the watch ended without an event of {last}")


class Side:
    """One of the two servers, and the placeholders for its uids and versions."""

    def __init__(self, server: Server, namespace: str) -> None:
        self.server = server
        self.namespace = namespace
        self._uids: dict[str, str] = {}
        self.versions: list[int] = []
        self.objects: dict[str, list[dict[str, Any]]] = {}
        """The responses of each path, in order."""
        self.tokens: dict[str, str] = {}
        """Continue tokens by path."""

    def ask(self, request: Request) -> Response:
        """Send a request with its placeholders replaced, and record the response."""
        path = request.path.replace("{}", self.namespace)
        body = self._filled(request.body, path)
        query = {key: self._filled(value, path) for key, value in request.query.items()}
        given = {key: value for key, value in query.items() if value}
        answer = self.server.send(replace(request, path=path, body=body, query=given))
        if answer.body.get("kind") not in ("Status", None) and "items" not in answer.body:
            self.objects.setdefault(path.removesuffix("/status").removesuffix("/scale"), []).append(answer.body)
        if "items" in answer.body:
            self.tokens[path] = answer.body["metadata"].get("continue", "")
        return answer

    def _filled(self, value: Any, path: str) -> Any:
        if isinstance(value, dict):
            return {key: self._filled(below, path) for key, below in value.items()}
        if isinstance(value, list):
            return [self._filled(below, path) for below in value]
        return self._meant(value, path) if isinstance(value, str) and value.startswith("$") else value

    def _meant(self, word: str, path: str) -> Any:
        known = self.objects.get(path.removesuffix("/status").removesuffix("/scale"), [])
        chosen = known[0 if word.startswith("$first") else -1]["metadata"] if known else {}
        meanings = {
            "$namespace": self.namespace,
            "$token": self.tokens.get(path, ""),
            "$managed": chosen.get("managedFields", [{}])[:1],
        }
        if word.endswith("version"):
            return chosen.get("resourceVersion", "1")
        return meanings.get(word, chosen.get("uid", "00000000-0000-0000-0000-000000000000"))

    def plain(self, answer: Response) -> Any:
        """Return a response without times and texts; equal uids and versions stay recognizable."""
        body = answer.body
        if body.get("kind") == "Status":
            return answer.status, self._plain_status(body)
        if "items" in body:
            metadata = body["metadata"]
            rest = {key: value for key, value in body.items() if key not in ("items", "metadata")}
            told = {
                "more": bool(metadata.get("continue")),
                "remaining": metadata.get("remainingItemCount"),
                "fresh": int(metadata["resourceVersion"]) >= max(self.versions, default=0) or bool(metadata),
            }
            # Items of a LIST have no kind of their own.
            kind = {"kind": body["kind"].removesuffix("List")}
            items = [self.plain_object({**kind, **item}) for item in body["items"] or ()]
            return answer.status, {**rest, **told, "items": items}
        return answer.status, self.plain_object(body)

    def _plain_status(self, body: Mapping[str, Any]) -> Any:
        details = body.get("details") or {}
        causes = sorted({_cause(cause) for cause in details.get("causes") or ()})
        rest = {key: value for key, value in details.items() if key not in ("causes", "uid", "retryAfterSeconds")}
        uid = self._uid(details["uid"]) if "uid" in details else None
        token = bool((body.get("metadata") or {}).get("continue"))
        return {
            **{key: body.get(key) for key in ("status", "reason", "code")},
            "details": rest,
            "causes": causes,
            "uid": uid,
            "token": token,
        }

    def plain_object(self, obj: Mapping[str, Any]) -> Any:
        """Return an object without values that may differ between the sides."""
        metadata = dict(obj["metadata"])
        for name in ("creationTimestamp", "deletionTimestamp"):
            if name in metadata:
                metadata[name] = "some time"
        metadata["resourceVersion"] = self._rank(int(metadata["resourceVersion"]))
        metadata["uid"] = self._uid(metadata["uid"])
        if "managedFields" in metadata:
            metadata["managedFields"] = _entries(metadata["managedFields"])
        if "ownerReferences" in metadata:
            metadata["ownerReferences"] = [
                {**each, "uid": self._uid(each["uid"])} for each in metadata["ownerReferences"]
            ]
        plain = {**obj, "metadata": metadata}
        return {**plain, "spec": self._plain_service(obj["spec"])} if obj.get("kind") == "Service" else plain

    def _plain_service(self, spec: Mapping[str, Any]) -> Any:
        """Return the spec of a Service with numbers instead of allocated values; equal values stay recognizable."""
        plain = dict(spec)
        if spec.get("clusterIP") not in (None, "None"):
            plain |= {"clusterIP": self._uid(spec["clusterIP"]), "clusterIPs": [*map(self._uid, spec["clusterIPs"])]}
        if "healthCheckNodePort" in spec:
            plain["healthCheckNodePort"] = self._uid(str(spec["healthCheckNodePort"]))
        ports = [
            {**port, **({"nodePort": self._uid(str(port["nodePort"]))} if "nodePort" in port else {})}
            for port in spec.get("ports", ())
        ]
        return {**plain, **({"ports": ports} if ports else {})}

    def _uid(self, uid: str) -> str:
        """Return the number of a uid, an address or a node port."""
        return self._uids.setdefault(uid, f"uid {len(self._uids)}")

    def _rank(self, version: int) -> tuple[str, int]:
        """Return the index of an equal earlier version, or the number of older versions."""
        if version in self.versions:
            return "as", self.versions.index(version)
        older = sum(known < version for known in self.versions)
        self.versions.append(version)
        return "new", older


def _entries(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Return managedFields by manager, because their order depends on times."""
    whose = ("manager", "operation", "subresource", "apiVersion")
    found = {
        " ".join(str(entry.get(key, "")) for key in whose): {
            key: value for key, value in entry.items() if key not in (*whose, "time")
        }
        for entry in entries
    }
    assert len(found) == len(entries)
    return found


def _cause(cause: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return a cause; for a conflict with its text, which names the manager."""
    reason = str(cause.get("reason", ""))
    return reason, str(cause.get("field", "")), cause["message"] if reason == "FieldManagerConflict" else ""
