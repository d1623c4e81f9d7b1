"""What the proxy does with each request: forward it, or do what the plan says."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlencode

import aiohttp
from aiohttp import web

from faults.history import History, Request
from faults.plan import Answer, Behind, Delay, Drop, Kill, Plan, described
from faults.proxy_meeting import Force, Meeting, News, Order, made_answer
from faults.proxy_requests import request_info
from faults.proxy_upstream import Answered, Upstream, own_headers, read_json, read_lines
from faults.rules import Rules
from faults.stream import End, Event, Step, Unchanged, read_event


class Handler:
    """Answers all requests of one proxy. To be made and used in one event loop."""

    def __init__(self, upstream: Upstream, history: History, kill: Callable[[], None]) -> None:
        self.failures: list[BaseException] = []
        """Of the proxy itself; a test that sees one has not tested what it meant to."""
        self._upstream = upstream
        self._history = history
        self._kill = kill
        self._force = Force(Rules(Plan()))
        self._unstoppable: set[asyncio.Task[None]] = set()
        self._watches: dict[asyncio.Queue[News], str] = {}

    def put_in_force(self, plan: Plan) -> None:
        """Lift the plan so far, and begin another."""
        self._force.lift()
        self._force = Force(Rules(plan))

    def cut(self, resource: str) -> None:
        """Break the open watches of a resource, a shell pattern, the frozen ones too."""
        for queue, watched in self._watches.items():
            if fnmatchcase(watched, resource):
                queue.put_nowait(Order.CUT)

    async def close(self) -> None:
        """Wait for what goes on without its client."""
        await asyncio.gather(*self._unstoppable, return_exceptions=True)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request. It is cancelled when the client goes away."""
        try:
            return await self._attend(request)
        except (asyncio.CancelledError, ConnectionError):
            raise
        except BaseException as error:
            self.failures.append(error)
            raise

    async def _attend(self, request: web.BaseRequest) -> web.StreamResponse:
        meeting, force = await self._meet(request)
        try:
            return await self._answer(meeting, force)
        except (aiohttp.ClientError, ConnectionError):  # the server can't be reached, or the client is gone
            return meeting.abort()
        finally:
            meeting.record.ended = time.monotonic()

    async def _meet(self, request: web.BaseRequest) -> tuple[Meeting, Force]:
        at = time.monotonic()
        body = await request.read()
        path, _, query = request.raw_path.partition("?")
        info = request_info(request.method, path, query, request.headers.get("User-Agent", ""))
        force = self._force
        action = force.rules.decide(info)
        record = Request(
            number=len(self._history.requests) + 1,
            at=at,
            verb=info.verb,
            resource=info.resource,
            namespace=info.namespace,
            name=info.name,
            query=info.query,
            agent=info.agent,
            path=info.path,
            body=read_json(body),
            fault=described(action) if action else "",
        )
        self._history.requests.append(record)
        return Meeting(request, body, info, action, record), force

    async def _answer(self, meeting: Meeting, force: Force) -> web.StreamResponse:
        match meeting.action:
            case Answer() as answer:
                if not answer.instead:
                    await self._whatever_the_client_does(self._ask(meeting))
                return await meeting.pass_on(made_answer(answer))
            case Drop() as drop:
                if drop.answered:
                    await self._whatever_the_client_does(self._ask(meeting))
                return meeting.abort()
            case Kill() as kill:
                await self._whatever_the_client_does(self._ask_and_kill(meeting, kill))
                return meeting.abort()
            case Delay() as delay if not delay.answered:
                await force.pause(delay.seconds)
        return await self._forward(meeting, force)

    async def _whatever_the_client_does(self, doing: Coroutine[Any, Any, None]) -> None:
        """Carry something through even if the client goes away meanwhile."""
        task = asyncio.create_task(doing)
        self._unstoppable.add(task)
        task.add_done_callback(self._done)
        await asyncio.shield(task)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._unstoppable.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self.failures.append(error)

    async def _ask_and_kill(self, meeting: Meeting, kill: Kill) -> None:
        asking = asyncio.create_task(self._ask(meeting)) if kill.forwarded or kill.answered else None
        if asking and kill.answered:
            await asking
        await asyncio.get_running_loop().run_in_executor(None, self._kill)
        if asking:
            await asking

    async def _ask(self, meeting: Meeting) -> None:
        """Let the server do what it is asked, and keep its answer from the client."""
        try:
            await self._read(meeting, await self._open(meeting))
        except aiohttp.ClientError:
            return  # the record says that there was no answer

    async def _open(self, meeting: Meeting) -> aiohttp.ClientResponse:
        meeting.record.forwarded = True
        try:
            response = await self._upstream.open(meeting.request, _path_to_ask(meeting), meeting.body)
        except aiohttp.ClientConnectorError:
            meeting.record.forwarded = False
            raise
        meeting.record.server_status = response.status
        return response

    async def _read(self, meeting: Meeting, response: aiohttp.ClientResponse) -> Answered:
        async with response:
            streams = meeting.info.is_watch and response.status == 200
            body = b"" if streams else await response.read()
            if streams:
                response.close()
        answered = Answered(response.status, own_headers(response.headers), body)
        meeting.record.server_answer = read_json(body)
        return answered

    async def _forward(self, meeting: Meeting, force: Force) -> web.StreamResponse:
        response = await self._open(meeting)
        try:
            if meeting.info.is_watch and response.status == 200:
                await _pause_answered(meeting, force)
                return await self._stream(meeting, response, force)
            answered = await self._read(meeting, response)
            await _pause_answered(meeting, force)
            return await meeting.pass_on(answered)
        finally:
            response.close()

    async def _stream(self, meeting: Meeting, response: aiohttp.ClientResponse, force: Force) -> web.StreamResponse:
        """Pass a watch on, line by line; the one queue keeps lines, the stream's end and the plan's end in order."""
        shape = Unchanged() if force.lifted.is_set() else force.rules.shape(meeting.action)
        stream = await meeting.open_stream(response.status, own_headers(response.headers))
        queue: asyncio.Queue[News] = asyncio.Queue()
        force.streams.add(queue)
        self._watches[queue] = meeting.info.resource
        reading = asyncio.create_task(_read_events(response, queue))
        try:
            steps = shape.opened()
            while True:
                end = await self._take_steps(meeting, stream, steps)
                if end is End.RESET:
                    return meeting.abort(stream)
                if end is End.CLOSE:
                    await stream.write_eof()
                    return stream
                steps, shape = _next_steps(await queue.get(), shape)
        finally:
            force.streams.discard(queue)
            del self._watches[queue]
            reading.cancel()

    async def _take_steps(self, meeting: Meeting, stream: web.StreamResponse, steps: list[Step]) -> End | None:
        for step in steps:
            if isinstance(step, End):
                return step
            await meeting.send(stream, step, self._history)
        return None


def _next_steps(news: News, shape: Unchanged) -> tuple[list[Step], Unchanged]:
    if news is Order.LIFTED:
        return shape.lifted(), Unchanged()
    if news is Order.CUT:
        return [End.RESET], shape
    return (shape.took(news) if isinstance(news, Event) else shape.ended(news)), shape


async def _read_events(response: aiohttp.ClientResponse, queue: asyncio.Queue[News]) -> None:
    try:
        async for line in read_lines(response.content):
            queue.put_nowait(read_event(line))
    except (aiohttp.ClientError, ConnectionError):
        queue.put_nowait(End.RESET)
    else:
        queue.put_nowait(End.CLOSE)


async def _pause_answered(meeting: Meeting, force: Force) -> None:
    if isinstance(meeting.action, Delay) and meeting.action.answered:
        await force.pause(meeting.action.seconds)


def _path_to_ask(meeting: Meeting) -> str:
    """Return the path and query for the server: a LIST under Behind asks for the state of old."""
    action, info = meeting.action, meeting.info
    if not isinstance(action, Behind) or info.verb != "list" or info.query.get("continue"):
        return meeting.request.raw_path  # a later page is of the version of the first
    path = meeting.request.raw_path.partition("?")[0]
    query = {**info.query, "resourceVersion": str(action.version), "resourceVersionMatch": "Exact"}
    return f"{path}?{urlencode(query)}"
