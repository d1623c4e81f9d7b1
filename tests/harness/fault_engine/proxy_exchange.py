"""One request in the proxy: the client's request, the response, and the record in the history."""

import asyncio
import json
import socket
import struct
import time
from enum import Enum
from typing import Any

from aiohttp import web
from multidict import CIMultiDict

from fault_engine.history import History, Line, Request
from fault_engine.plan import Action, Answer
from fault_engine.proxy_requests import RequestInfo
from fault_engine.proxy_upstream import Answered, read_json
from fault_engine.rules import Rules
from fault_engine.stream import End, Event

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


class Command(Enum):
    """A command to a watch, in the queue of its lines."""

    LIFTED = "lifted"
    CUT = "cut"


StreamItem = Event | End | Command


class ActivePlan:
    """The current plan, until it is lifted."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.lifted = asyncio.Event()
        self.streams: set[asyncio.Queue[StreamItem]] = set()
        """The queues of the watches that were opened under the plan."""

    def lift(self) -> None:
        """Release everything that the plan holds."""
        self.lifted.set()
        for stream in self.streams:
            stream.put_nowait(Command.LIFTED)

    async def pause(self, seconds: float) -> None:
        """Wait for `seconds`, or until the plan is lifted."""
        try:
            await asyncio.wait_for(self.lifted.wait(), seconds)
        except TimeoutError:
            return


class Exchange:
    """A request with its plan and its action."""

    def __init__(
        self, request: web.BaseRequest, body: bytes, info: RequestInfo, action: Action | None, record: Request
    ) -> None:
        self.request = request
        self.body = body
        self.info = info
        self.action = action
        self.record = record

    async def pass_on(self, answer: Answered) -> web.StreamResponse:
        """Send a response to the client, and record it."""
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
        """Send the headers of a watch to the client."""
        response = web.StreamResponse(status=status, headers=headers)
        self.record.status = status
        await response.prepare(self.request)
        return response

    async def send(self, response: web.StreamResponse, event: Event, history: History) -> None:
        """Send a line of a watch, and record it."""
        if self.request.transport is None or self.request.transport.is_closing():
            raise ConnectionResetError
        history.lines.append(Line(time.monotonic(), self.record.number, event.type, event.object, event.fault))
        await response.write(event.text)

    def abort(self, response: web.StreamResponse | None = None) -> web.StreamResponse:
        """Reset the client's connection (RST)."""
        if response is None:
            self.record.status = self.record.answer = None
        transport = self.request.transport
        connection = None if transport is None else transport.get_extra_info("socket")
        if transport is not None and connection is not None:  # else the client has already closed it
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            transport.abort()
        return response or web.Response()  # aiohttp requires one, but cannot send it any more


def made_answer(answer: Answer) -> Answered:
    """Return the response of an `Answer` action."""
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
        "message": f"the plan of faults responds with {status}",
        "reason": _REASONS.get(status, ""),
        "code": status,
    }
