"""Minimal requests in Python: aiohttp and JSON, no cache, no retry."""

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp
import yaml

from rendered import KINDS

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"

PASSING = (429, 500, 503)
"""Temporary responses of a newly started API server."""
PAUSE = 0.2
"""Seconds until the next attempt after a transient error."""

CHILDREN = "labelSelector=coxswain.dev%2Fwebapp"


def path(kind: str, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
    """Return the path of an object, of the objects in a namespace, or of all objects of a kind."""
    return next(each for each in KINDS.watched if each.kind == kind).path(namespace, name, subresource)


class Api:
    """A connection pool to one API server, during an `async with`."""

    def __init__(self, url: str, ca_file: Path, token: str, agent: str) -> None:
        self._url = url
        self._ca_file = ca_file
        self._headers = {"Authorization": f"Bearer {token}", "User-Agent": agent, "Accept": JSON}

    @classmethod
    def of(cls, kubeconfig: Path, agent: str, folder: Path) -> Self:
        """Return a client for a kubeconfig of the throwaway cluster; its CA is written to a file in `folder`."""
        config = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        ca_file = folder / "ca.crt"
        ca_file.write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
        return cls(cluster["server"], ca_file, user["token"], agent)

    async def __aenter__(self) -> Self:
        context = ssl.create_default_context(cafile=str(self._ca_file))
        self._session = aiohttp.ClientSession(
            headers=self._headers,
            connector=aiohttp.TCPConnector(limit=0, ssl=context),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=10),
            read_bufsize=2**20,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def send(self, method: str, where: str, body: Any = None, content_type: str = JSON) -> tuple[int, Any]:
        """Return the status and body of a response."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": content_type}
        async with self._session.request(method, self._url + where, data=data, headers=headers) as answer:
            return answer.status, json.loads(await answer.read())

    async def accepted(self, method: str, where: str, body: Any = None, content_type: str = JSON) -> Any:
        """Return the response body of an accepted request. Raises RuntimeError otherwise."""
        status, answer = await self.send(method, where, body, content_type)
        if status >= 400:
            raise RuntimeError(f"{method} {where}: {status} {answer.get('message')}")
        return answer

    async def follow(self, where: str, query: str = "") -> AsyncIterator[Mapping[str, Any]]:
        """Yield an ADDED for each existing object, then one event SYNCED, then watch events without end."""
        while (found := await self.send("GET", f"{where}?{query}"))[0] in PASSING:
            await asyncio.sleep(PAUSE)
        status, listed = found
        if status >= 400:
            raise RuntimeError(f"list of {where}: {status} {listed.get('message')}")
        for item in listed["items"]:
            yield {"type": "ADDED", "object": item}
        yield {"type": "SYNCED"}
        version = listed["metadata"]["resourceVersion"]
        while True:
            async for event in self._watch(f"{where}?{query}&watch=true&resourceVersion={version}"):
                if event["type"] == "ERROR":
                    raise RuntimeError(f"watch of {where}: {event['object'].get('message')}")
                version = event["object"]["metadata"]["resourceVersion"]
                yield event

    async def _watch(self, where: str) -> AsyncIterator[dict[str, Any]]:
        """Yield the events of one watch until the server ends it."""
        async with self._session.get(self._url + where) as answer:
            if answer.status in PASSING:
                await asyncio.sleep(PAUSE)
                return
            if answer.status != 200:
                raise RuntimeError(f"watch of {where}: {answer.status}")
            buffer = b""
            async for chunk in answer.content.iter_any():
                *lines, buffer = (buffer + chunk).split(b"\n")
                for line in lines:
                    yield json.loads(line)
