"""Handles each request to the proxy: forwards it, or executes the action of the plan."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlencode

import aiohttp
from aiohttp import web

from fault_engine.history import History, Request
from fault_engine.plan import Answer, Behind, Delay, Drop, Kill, Plan, described
from fault_engine.proxy_exchange import ActivePlan, Command, Exchange, StreamItem, made_answer
from fault_engine.proxy_requests import request_info
from fault_engine.proxy_upstream import Answered, Upstream, own_headers, read_json, read_lines
from fault_engine.rules import Rules
from fault_engine.stream import End, Event, Step, Unchanged, read_event


class Handler:
    """Responds to all requests of one proxy. Create and use it in one event loop."""

    def __init__(self, upstream: Upstream, history: History, kill: Callable[[], None]) -> None:
        self.failures: list[BaseException] = []
        """Errors of the proxy itself. They invalidate the test."""
        self._upstream = upstream
        self._history = history
        self._kill = kill
        self._active = ActivePlan(Rules(Plan()))
        self._uncancelled: set[asyncio.Task[None]] = set()
        self._watches: dict[asyncio.Queue[StreamItem], str] = {}

    def activate(self, plan: Plan) -> None:
        """Lift the current plan, and set another."""
        self._active.lift()
        self._active = ActivePlan(Rules(plan))

    def cut(self, resource: str) -> None:
        """Reset the open watches of a resource (a shell pattern), also frozen ones."""
        for queue, watched in self._watches.items():
            if fnmatchcase(watched, resource):
                queue.put_nowait(Command.CUT)

    async def close(self) -> None:
        """Wait for the tasks that outlive their client."""
        await asyncio.gather(*self._uncancelled, return_exceptions=True)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Respond to a request. aiohttp cancels this when the client disconnects."""
        try:
            return await self._respond(request)
        except (asyncio.CancelledError, ConnectionError):
            raise
        except BaseException as error:
            self.failures.append(error)
            raise

    async def _respond(self, request: web.BaseRequest) -> web.StreamResponse:
        exchange, active = await self._begin_exchange(request)
        try:
            return await self._answer(exchange, active)
        except (aiohttp.ClientError, ConnectionError):  # the server is unreachable, or the client disconnected
            return exchange.abort()
        finally:
            exchange.record.ended = time.monotonic()

    async def _begin_exchange(self, request: web.BaseRequest) -> tuple[Exchange, ActivePlan]:
        at = time.monotonic()
        body = await request.read()
        path, _, query = request.raw_path.partition("?")
        info = request_info(request.method, path, query, request.headers.get("User-Agent", ""))
        info = replace(info, body_text=body.decode(errors="replace"))
        active = self._active
        action = active.rules.decide(info)
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
        return Exchange(request, body, info, action, record), active

    async def _answer(self, exchange: Exchange, active: ActivePlan) -> web.StreamResponse:
        match exchange.action:
            case Answer() as answer:
                if not answer.instead:
                    await self._run_to_completion(self._ask(exchange))
                return await exchange.pass_on(made_answer(answer))
            case Drop() as drop:
                if drop.answered:
                    await self._run_to_completion(self._ask(exchange))
                return exchange.abort()
            case Kill() as kill:
                await self._run_to_completion(self._ask_and_kill(exchange, kill))
                return exchange.abort()
            case Delay() as delay if not delay.answered:
                await active.pause(delay.seconds)
        return await self._forward(exchange, active)

    async def _run_to_completion(self, doing: Coroutine[Any, Any, None]) -> None:
        """Finish a task even if the client disconnects."""
        task = asyncio.create_task(doing)
        self._uncancelled.add(task)
        task.add_done_callback(self._done)
        await asyncio.shield(task)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._uncancelled.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self.failures.append(error)

    async def _ask_and_kill(self, exchange: Exchange, kill: Kill) -> None:
        asking = asyncio.create_task(self._ask(exchange)) if kill.forwarded or kill.answered else None
        if asking and kill.answered:
            await asking
        await asyncio.get_running_loop().run_in_executor(None, self._kill)
        if asking:
            await asking

    async def _ask(self, exchange: Exchange) -> None:
        """Forward a request, and discard the response."""
        try:
            await self._read(exchange, await self._open(exchange))
        except aiohttp.ClientError:
            return  # the record has no server_status then

    async def _open(self, exchange: Exchange) -> aiohttp.ClientResponse:
        exchange.record.forwarded = True
        try:
            response = await self._upstream.open(exchange.request, _path_to_ask(exchange), exchange.body)
        except aiohttp.ClientConnectorError:
            exchange.record.forwarded = False
            raise
        exchange.record.server_status = response.status
        return response

    async def _read(self, exchange: Exchange, response: aiohttp.ClientResponse) -> Answered:
        async with response:
            streams = exchange.info.is_watch and response.status == 200
            body = b"" if streams else await response.read()
            if streams:
                response.close()
        answered = Answered(response.status, own_headers(response.headers), body)
        exchange.record.server_answer = read_json(body)
        return answered

    async def _forward(self, exchange: Exchange, active: ActivePlan) -> web.StreamResponse:
        response = await self._open(exchange)
        try:
            if exchange.info.is_watch and response.status == 200:
                await _pause_answered(exchange, active)
                return await self._stream(exchange, response, active)
            answered = await self._read(exchange, response)
            await _pause_answered(exchange, active)
            return await exchange.pass_on(answered)
        finally:
            response.close()

    async def _stream(
        self, exchange: Exchange, response: aiohttp.ClientResponse, active: ActivePlan
    ) -> web.StreamResponse:
        """Forward a watch line by line. One queue keeps the order of lines, the end of the stream and of the plan."""
        shape = Unchanged() if active.lifted.is_set() else active.rules.shape(exchange.action)
        stream = await exchange.open_stream(response.status, own_headers(response.headers))
        queue: asyncio.Queue[StreamItem] = asyncio.Queue()
        active.streams.add(queue)
        self._watches[queue] = exchange.info.resource
        reading = asyncio.create_task(_read_events(response, queue))
        try:
            steps = shape.opened()
            while True:
                end = await self._take_steps(exchange, stream, steps)
                if end is End.RESET:
                    return exchange.abort(stream)
                if end is End.CLOSE:
                    await stream.write_eof()
                    return stream
                steps, shape = _next_steps(await queue.get(), shape)
        finally:
            active.streams.discard(queue)
            del self._watches[queue]
            reading.cancel()

    async def _take_steps(self, exchange: Exchange, stream: web.StreamResponse, steps: list[Step]) -> End | None:
        for step in steps:
            if isinstance(step, End):
                return step
            await exchange.send(stream, step, self._history)
        return None


def _next_steps(item: StreamItem, shape: Unchanged) -> tuple[list[Step], Unchanged]:
    if item is Command.LIFTED:
        return shape.lifted(), Unchanged()
    if item is Command.CUT:
        return [End.RESET], shape
    return (shape.took(item) if isinstance(item, Event) else shape.ended(item)), shape


async def _read_events(response: aiohttp.ClientResponse, queue: asyncio.Queue[StreamItem]) -> None:
    try:
        async for line in read_lines(response.content):
            queue.put_nowait(read_event(line))
    except (aiohttp.ClientError, ConnectionError):
        queue.put_nowait(End.RESET)
    else:
        queue.put_nowait(End.CLOSE)


async def _pause_answered(exchange: Exchange, active: ActivePlan) -> None:
    if isinstance(exchange.action, Delay) and exchange.action.answered:
        await active.pause(exchange.action.seconds)


def _path_to_ask(exchange: Exchange) -> str:
    """Return the path and query for the server: under Behind, a LIST asks for the old resourceVersion."""
    action, info = exchange.action, exchange.info
    if not isinstance(action, Behind) or info.verb != "list" or info.query.get("continue"):
        return exchange.request.raw_path  # the continue token determines the version of later pages
    path = exchange.request.raw_path.partition("?")[0]
    query = {**info.query, "resourceVersion": str(action.version), "resourceVersionMatch": "Exact"}
    return f"{path}?{urlencode(query)}"
