"""The workqueue: each key once, one worker per key, one more run after a change, and users' changes first."""

import asyncio

from coxswain.kernel.cache.store import Key
from coxswain.kernel.reconciling.queue.workqueue import Lane, WorkQueue

A, B, C = Key("shop", "a"), Key("shop", "b"), Key("shop", "c")


def queue() -> WorkQueue:
    """Return a queue with short delays and no jitter."""
    return WorkQueue("test", retry_delay=0.01, retry_delay_limit=0.04, chance=lambda: 1.0)


def test_a_key_is_queued_once() -> None:
    async def body() -> None:
        keys = queue()
        for _ in range(3):
            keys.add(A)
        assert len(keys) == 1
        assert await keys.get() == A
        keys.done(A)
        assert len(keys) == 0

    asyncio.run(body())


def test_a_key_changed_while_processing_runs_once_more_afterwards() -> None:
    async def body() -> None:
        keys = queue()
        keys.add(A)
        await keys.get()
        keys.add(A)
        keys.add(A)
        assert len(keys) == 0
        keys.done(A)
        assert await keys.get() == A
        keys.done(A)
        assert len(keys) == 0

    asyncio.run(body())


def test_a_change_overtakes_the_backlog() -> None:
    async def body() -> None:
        keys = queue()
        keys.add(A, lane=Lane.BACKLOG)
        keys.add(B, lane=Lane.BACKLOG)
        keys.add(C)
        keys.add(B)
        assert [await keys.get() for _ in range(3)] == [C, B, A]

    asyncio.run(body())


def test_the_backlog_does_not_hold_a_change_back() -> None:
    async def body() -> None:
        keys = queue()
        keys.add(A)
        keys.add(A, lane=Lane.BACKLOG)
        keys.add(B)
        assert await keys.get() == A

    asyncio.run(body())


def test_changed_keys_and_rollouts_take_turns() -> None:
    async def body() -> None:
        keys = queue()
        changed, under_way = ([Key(name, str(number)) for number in range(4)] for name in ("changed", "under-way"))
        keys.add(A, Lane.BACKLOG)
        for key in changed:
            keys.add(key, Lane.CHANGED)
        for key in under_way:
            keys.add(key, Lane.IN_PROGRESS)
        taken = [await keys.get() for _ in range(8)]
        assert taken[0::2] == changed
        assert taken[1::2] == under_way
        assert await keys.get() == A

    asyncio.run(body())


def test_without_rollouts_each_turn_takes_a_changed_key() -> None:
    async def body() -> None:
        keys = queue()
        for key in (A, B):
            keys.add(key, Lane.CHANGED)
        assert [await keys.get(), await keys.get()] == [A, B]

    asyncio.run(body())


def test_a_waiting_key_keeps_its_place() -> None:
    async def body() -> None:
        keys = queue()
        keys.add(A, Lane.IN_PROGRESS)
        keys.add(B, Lane.CHANGED)
        keys.add(A, Lane.CHANGED)
        keys.add(B, Lane.IN_PROGRESS)
        assert len(keys) == 2
        assert [await keys.get(), await keys.get()] == [B, A]

    asyncio.run(body())


def test_of_several_changes_while_processing_the_most_urgent_counts() -> None:
    async def body() -> None:
        keys = queue()
        keys.add(A)
        await keys.get()
        for lane in (Lane.BACKLOG, Lane.CHANGED, Lane.IN_PROGRESS):
            keys.add(A, lane)
        keys.add(B, Lane.CHANGED)
        keys.done(A)
        keys.add(C, Lane.IN_PROGRESS)
        assert [await keys.get() for _ in range(3)] == [B, C, A]

    asyncio.run(body())


def test_failures_are_requeued_with_bounded_backoff() -> None:
    async def body() -> None:
        keys = queue()
        delays = []
        for _ in range(4):
            delays.append(keys.add_rate_limited(A))
            assert await asyncio.wait_for(keys.get(), 5) == A
            keys.done(A)
        assert delays == [0.01, 0.02, 0.04, 0.04]
        assert keys.failures(A) == 4
        keys.forget(A)
        assert keys.add_rate_limited(A) == 0.01

    asyncio.run(body())


def test_failures_of_event_driven_attempts_do_not_delay_the_retry() -> None:
    async def body() -> None:
        keys = WorkQueue("test", retry_delay=60, retry_delay_limit=600, chance=lambda: 1.0)
        first = keys.add_rate_limited(A)
        for _ in range(5):
            keys.add(A)
            await keys.get()
            assert keys.add_rate_limited(A) <= first
            keys.done(A)
        assert keys.failures(A) == 1
        keys.forget(A)
        assert keys.add_rate_limited(A) == first

    asyncio.run(body())


def test_when_the_server_recovers_all_retries_run_at_once() -> None:
    async def body() -> None:
        keys = WorkQueue("test", retry_delay=60, retry_delay_limit=600)
        keys.add_rate_limited(A)
        keys.add_after(B, 60)
        keys.retry_now()
        assert await asyncio.wait_for(keys.get(), 5) == A
        assert len(keys) == 0

    asyncio.run(body())


def test_a_retry_obeys_retry_after() -> None:
    async def body() -> None:
        keys = queue()
        assert keys.add_rate_limited(A, at_least=5) == 5 * 1.25
        assert keys.add_rate_limited(B, at_least=0.001) == 0.01

    asyncio.run(body())


def test_an_event_ends_the_delay_of_its_key() -> None:
    async def body() -> None:
        keys = queue()
        keys.add_after(A, 60)
        keys.add(A)
        assert await asyncio.wait_for(keys.get(), 5) == A
        keys.done(A)
        assert not keys._delayed

    asyncio.run(body())


def test_the_shorter_of_two_delays_counts() -> None:
    async def body() -> None:
        keys = queue()
        keys.add_after(A, 60)
        keys.add_after(A, 0.01)
        keys.add_after(A, 60)
        assert await asyncio.wait_for(keys.get(), 5) == A

    asyncio.run(body())


def test_get_waits_for_a_key() -> None:
    async def body() -> None:
        keys = queue()
        taker = asyncio.create_task(keys.get())
        await asyncio.sleep(0)
        assert not taker.done()
        keys.add(A)
        assert await asyncio.wait_for(taker, 5) == A

    asyncio.run(body())


def test_clear_drops_keys_that_are_not_processing() -> None:
    async def body() -> None:
        keys = queue()
        keys.add(A)
        await keys.get()
        keys.add(A)
        keys.add(B, lane=Lane.BACKLOG)
        keys.add_after(C, 0.01)
        keys.clear()
        keys.done(A)
        assert (len(keys), keys._delayed) == (0, {})

    asyncio.run(body())


def test_a_key_that_changed_while_it_was_processed_comes_before_the_backlog() -> None:
    async def body() -> None:
        keys = queue()
        keys.add(A)
        await keys.get()
        keys.add(B, lane=Lane.BACKLOG)
        keys.add(A, lane=Lane.CHANGED)
        keys.done(A)
        assert await keys.get() == A

    asyncio.run(body())


def test_a_cleared_key_is_not_requeued_later() -> None:
    async def body() -> None:
        errors: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
        keys = queue()
        keys.add_after(A, 0.01)
        keys.clear()
        keys.add_after(B, 0.02)
        assert await keys.get() == B
        assert (len(keys), errors) == (0, [])

    asyncio.run(body())
