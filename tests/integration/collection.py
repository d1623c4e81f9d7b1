"""A collection of objects in one namespace, accessed over plain HTTP with exactly the given parameters.

The objects are Leases, because no other client creates them in a test's namespace; `holderIdentity` is their content.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import requests

from cluster import ControlPlane
from cluster.clients import direct_session

FAR = 1_000_000
"""Added to a resourceVersion, it gives one that no test reaches."""

_MERGE_PATCH = {"Content-Type": "application/merge-patch+json"}


@dataclass(frozen=True)
class Answer:
    """The response to one request."""

    status: int
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def version(self) -> int:
        """The resourceVersion of the object or the list."""
        return int(self.body["metadata"]["resourceVersion"])

    @property
    def token(self) -> str:
        """The continue token; empty on the last page."""
        token: str = self.body["metadata"].get("continue", "")
        return token

    @property
    def contents(self) -> dict[str, str]:
        """The contents of the objects in a list, by name."""
        return {item["metadata"]["name"]: content(item) for item in self.body["items"]}


@dataclass(frozen=True)
class Event:
    """One line of a watch."""

    type: str
    object: Mapping[str, Any]

    @property
    def version(self) -> int:
        """The resourceVersion of the object."""
        return int(self.object["metadata"]["resourceVersion"])

    @property
    def told(self) -> tuple[str, str, str]:
        """The type, name and content of the event."""
        return self.type, self.object["metadata"]["name"], content(self.object)


def content(thing: Mapping[str, Any]) -> str:
    """Return the content of an object."""
    found: str = thing["spec"]["holderIdentity"]
    return found


class Collection:
    """The Leases of one namespace."""

    def __init__(self, cluster: ControlPlane, namespace: str, *, timeout: float = 30.0) -> None:
        self.session = direct_session(cluster.ca_file, cluster.token)
        self.timeout = timeout
        self.url = f"{cluster.url}/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"

    def create(self, name: str, content: str = "1") -> int:
        """Create an object; return its resourceVersion."""
        answer = self._ask("POST", "", json={"metadata": {"name": name}, "spec": {"holderIdentity": content}})
        assert answer.status == 201, answer.body
        return answer.version

    def change(self, name: str, content: str) -> int:
        """Change an object regardless of its resourceVersion; return the new one."""
        answer = self.patch(name, {"spec": {"holderIdentity": content}})
        assert answer.status == 200, answer.body
        return answer.version

    def patch(self, name: str, patch: Mapping[str, Any]) -> Answer:
        """Send a merge patch."""
        return self._ask("PATCH", name, json=patch, headers=_MERGE_PATCH)

    def put(self, thing: Mapping[str, Any]) -> Answer:
        """Replace an object."""
        return self._ask("PUT", thing["metadata"]["name"], json=thing)

    def delete(self, name: str, **preconditions: str) -> Answer:
        """Delete an object if the preconditions hold."""
        return self._ask("DELETE", name, json={"preconditions": preconditions})

    def get(self, name: str, **parameters: object) -> Answer:
        """Get an object."""
        return self._ask("GET", name, params=parameters)

    def list(self, **parameters: object) -> Answer:
        """List the objects."""
        return self._ask("GET", "", params=parameters)

    def page(self, limit: int, token: str = "") -> Answer:
        """List one page."""
        return self.list(limit=limit, **({"continue": token} if token else {}))

    def watch(self, **parameters: object) -> Iterator[Event]:
        """Open a watch, with status 200, and yield its events until the server ends it after `timeoutSeconds`."""
        query = {name: str(value) for name, value in {"watch": "true", **parameters}.items()}
        answer = self.session.get(self.url, params=query, stream=True, timeout=self.timeout)
        assert answer.status_code == 200, answer.text
        return _events(answer)

    def _ask(self, method: str, name: str, **rest: Any) -> Answer:
        url = f"{self.url}/{name}" if name else self.url
        answer: requests.Response = self.session.request(method, url, timeout=self.timeout, **rest)
        return Answer(answer.status_code, answer.headers, answer.json())


def _events(answer: requests.Response) -> Iterator[Event]:
    with answer:
        for line in answer.iter_lines():
            event = json.loads(line)
            yield Event(event["type"], event["object"])
