"""One request in the proxy: what the client sent, what it is answered, and what of it is written down."""

import asyncio
import json
import socket
import struct
import time
from enum import Enum
from typing import Any

from aiohttp import web
from multidict import CIMultiDict

from faults.history import History, Line, Request
from faults.plan import Action, Answer
from faults.proxy_requests import RequestInfo
from faults.proxy_upstream import Answered, read_json
from faults.rules import Rules
from faults.stream import End, Event

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class Order(Enum):
    """What a watch is told besides what the server sends."""

    LIFTED = "lifted"
    CUT = "cut"


News = Event | End | Order


class Force:
    """A plan in force, until it is lifted."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.lifted = asyncio.Event()
        self.streams: set[asyncio.Queue[News]] = set()
        """Of each watch that was opened under it."""

    def lift(self) -> None:
        """Let all that the plan holds go on."""
        self.lifted.set()
        for stream in self.streams:
            stream.put_nowait(Order.LIFTED)

    async def pause(self, seconds: float) -> None:
        """Wait, at most until the plan is lifted."""
        try:
            await asyncio.wait_for(self.lifted.wait(), seconds)
        except TimeoutError:
            return


class Meeting:
    """A request, the plan that it came under, and what it meets with."""

    def __init__(
        self, request: web.BaseRequest, body: bytes, info: RequestInfo, action: Action | None, record: Request
    ) -> None:
        self.request = request
        self.body = body
        self.info = info
        self.action = action
        self.record = record

    async def pass_on(self, answer: Answered) -> web.StreamResponse:
        """Answer the client, and write down what it got."""
        response = web.Response(status=answer.status, body=answer.body, headers=answer.headers)
        self.record.status = answer.status
        self.record.answer = read_json(answer.body)
        if answer.status == self.record.server_status and self.record.server_answer == self.record.answer:
            self.record.server_answer = None
        try:
            await response.prepare(self.request)
            await response.write_eof()
        except ConnectionError:
            self.record.status = self.record.answer = None
            raise
        return response

    async def open_stream(self, status: int, headers: CIMultiDict[str]) -> web.StreamResponse:
        """Answer a watch with its headers."""
        response = web.StreamResponse(status=status, headers=headers)
        self.record.status = status
        await response.prepare(self.request)
        return response

    async def send(self, response: web.StreamResponse, event: Event, history: History) -> None:
        """Send a line of a watch, and write it down."""
        if self.request.transport is None or self.request.transport.is_closing():
            raise ConnectionResetError
        history.lines.append(Line(time.monotonic(), self.record.number, event.type, event.object, event.fault))
        await response.write(event.text)

    def abort(self, response: web.StreamResponse | None = None) -> web.StreamResponse:
        """Break the client's connection, by a RST."""
        if response is None:
            self.record.status = self.record.answer = None
        transport = self.request.transport
        connection = None if transport is None else transport.get_extra_info("socket")
        if transport is not None and connection is not None:  # else the client has closed it already
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            transport.abort()
        return response or web.Response()  # the server wants one: it can no more be sent


def made_answer(answer: Answer) -> Answered:
    """Return the answer that a plan gives in the server's place."""
    body = answer.body if answer.body is not None else _status_object(answer.status)
    headers: CIMultiDict[str] = CIMultiDict({"Content-Type": "application/json"})
    if answer.retry_after is not None:
        headers["Retry-After"] = str(answer.retry_after)
    return Answered(answer.status, headers, json.dumps(body).encode())


def _status_object(status: int) -> dict[str, Any]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure" if status >= 400 else "Success",
        "message": f"the plan of faults answers {status}",
        "reason": _REASONS.get(status, ""),
        "code": status,
    }
