"""The event loop of the simulation: time passes without waiting, and each seed has one order."""

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

import pytest

from model_cluster.chance import Chance, seeded
from model_cluster.virtual import GROUP, Deadlock, Spinning, VirtualLoop, run


def loop(seed: str = "1", defer: float = 0.0) -> VirtualLoop:
    """Return a loop with this seed."""
    return VirtualLoop(Chance(seed), defer=defer)


def test_a_day_passes_at_once() -> None:
    began = time.monotonic()
    virtual = loop()
    run(virtual, asyncio.sleep(86_400))
    assert virtual.time() == 86_400
    assert time.monotonic() - began < 5


def test_a_timeout_is_one_of_virtual_time() -> None:
    async def body() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(7):
                await asyncio.Event().wait()
        return asyncio.get_running_loop().time()

    assert run(loop(), body()) == 7


def test_where_nothing_can_happen_any_more_it_says_so() -> None:
    async def body() -> None:
        await asyncio.Event().wait()

    with pytest.raises(Deadlock, match=r"no timer is set at 0\.000 s; tasks: Task-"):
        run(loop(), body())


def test_where_time_does_not_pass_it_says_so() -> None:
    async def body() -> None:
        while True:
            await asyncio.sleep(0)

    with pytest.raises(Spinning):
        run(loop(), body())


def test_a_busy_loop_of_timers_ends_the_run() -> None:
    async def body() -> None:
        while True:
            await asyncio.sleep(1e-9)

    with pytest.raises(Spinning):
        run(loop(), body())


def order(seed: str, defer: float) -> tuple[list[int], list[int]]:
    """Return the order of tasks and of callbacks that all start at the same moment."""
    tasks: list[int] = []
    callbacks: list[int] = []

    async def one(number: int) -> None:
        await asyncio.sleep(1)
        tasks.append(number)

    async def body() -> None:
        virtual = asyncio.get_running_loop()
        for number in range(20):
            virtual.call_soon(callbacks.append, number)
        await asyncio.gather(*(one(number) for number in range(20)))

    run(loop(seed, defer), body())
    return tasks, callbacks


def test_callbacks_keep_their_order_and_tasks_have_that_of_the_seed() -> None:
    usual = list(range(20))
    orders = {tuple(order(str(seed), 0.5)[0]) for seed in range(5)}
    assert len(orders) == 5
    assert all(sorted(found) == usual for found in orders)
    assert order("3", 0.5) == order("3", 0.5)
    assert order("3", 0.5)[1] == usual
    assert order("3", 0.0) == (usual, usual)


def test_tasks_that_are_left_are_ended() -> None:
    ended: list[str] = []

    async def left() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            ended.append("left")

    async def body() -> None:
        task = asyncio.get_running_loop().create_task(left())
        await asyncio.sleep(1)
        assert not task.done()

    run(loop(), body())
    assert ended == ["left"]


def test_a_number_depends_on_its_name_alone() -> None:
    one, other = Chance("7"), Chance("7")
    other.draw("something else")
    assert [one.draw("a") for _ in range(3)] == [other.draw("a") for _ in range(3)]
    assert Chance("8").draw("a") != Chance("7").draw("a")


def test_random_and_uuid_are_seeded_for_a_while() -> None:
    import random  # noqa: PLC0415
    import uuid  # noqa: PLC0415

    def drawn() -> tuple[float, str]:
        with seeded("5"):
            return random.random(), str(uuid.uuid4())

    assert drawn() == drawn()
    assert str(uuid.uuid4()) != drawn()[1]


def in_group(number: int, body: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    token = GROUP.set(number)
    try:
        return asyncio.create_task(body)
    finally:
        GROUP.reset(token)


@pytest.mark.parametrize("defer", [0.0, 0.5])
@pytest.mark.parametrize(("suspended", "ticks"), [(False, [3, 13, 16]), (True, [3, 14, 17])])
def test_a_paused_group_runs_nothing_and_continues(defer: float, suspended: bool, ticks: list[float]) -> None:
    """Its timers are overdue then, or late by the pause if the machine was suspended."""
    ticked: dict[int, list[float]] = {1: [], 2: []}
    woken: list[float] = []

    async def tick(number: int) -> None:
        for _ in range(3):
            await asyncio.sleep(3)
            ticked[number].append(asyncio.get_running_loop().time())

    async def wait(event: asyncio.Event) -> None:
        await event.wait()
        woken.append(asyncio.get_running_loop().time())

    async def body() -> None:
        virtual, event = asyncio.get_running_loop(), asyncio.Event()
        assert isinstance(virtual, VirtualLoop)
        tasks = [in_group(1, tick(1)), in_group(1, wait(event)), in_group(2, tick(2))]
        await asyncio.sleep(5)
        virtual.pause(1)
        event.set()
        await asyncio.sleep(8)
        virtual.resume(1, suspended=suspended)
        await asyncio.gather(*tasks)

    run(loop(defer=defer), body())
    assert ticked[2] == [3, 6, 9]
    assert woken == [13]
    assert ticked[1] == ticks


def test_a_cancelled_timer_of_a_paused_group_does_not_fire() -> None:
    fired: list[int] = []

    async def body() -> None:
        virtual = asyncio.get_running_loop()
        assert isinstance(virtual, VirtualLoop)
        token = GROUP.set(1)
        timers = [virtual.call_later(seconds, fired.append, seconds) for seconds in (1, 2, 3)]
        GROUP.reset(token)
        timers[0].cancel()
        virtual.pause(1)
        timers[1].cancel()
        await asyncio.sleep(5)
        assert fired == []
        virtual.resume(1)
        await asyncio.sleep(1)

    run(loop(), body())
    assert fired == [3]
