"""The hash of a namespace, and the decision which slots a replica holds."""

import math
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coxswain.kernel.election.balance import Plan, balance, quota
from coxswain.kernel.election.slots import WHOLE, Slot, slot_number, slots
from coxswain.settings import MAXIMUM_SLOTS

NAMES = "abcdefghij"


@pytest.mark.parametrize(
    ("namespace", "number"), [("default", 1), ("kube-system", 3), ("team-00", 0), ("team-01", 0), ("shop", 3)]
)
def test_the_slot_of_a_namespace_never_changes(namespace: str, number: int) -> None:
    assert slot_number(namespace, 6) == number
    assert [slot.covers(namespace) for slot in slots(6)] == [number == each for each in range(6)]


@given(namespace=st.text(max_size=63), count=st.integers(1, MAXIMUM_SLOTS))
def test_each_namespace_has_one_slot(namespace: str, count: int) -> None:
    assert sum(slot.covers(namespace) for slot in slots(count)) == 1
    assert WHOLE.covers(namespace)


@pytest.mark.parametrize("pattern", ["team-{:02}", "tenant-{}", "{:04}-prod"])
def test_similar_names_are_spread(pattern: str) -> None:
    shares = Counter(slot_number(pattern.format(number), 6) for number in range(100))
    assert len(shares) == 6
    assert max(shares.values()) < 40, "FNV-1a has 100 in one slot"


def test_the_names_of_the_leases() -> None:
    assert WHOLE.lease_name("coxswain") == "coxswain"
    assert Slot(3, 6).lease_name("coxswain") == "coxswain-slot-3"


@pytest.mark.thorough
@given(
    count=st.integers(1, MAXIMUM_SLOTS),
    shares=st.lists(st.integers(-1, 9), min_size=MAXIMUM_SLOTS, max_size=MAXIMUM_SLOTS),
    members=st.sets(st.sampled_from(NAMES), min_size=1),
    order=st.randoms(use_true_random=False),
)
def test_the_replicas_converge_with_few_moves(count: int, shares: list[int], members: set[str], order: Random) -> None:
    """From any distribution: each slot is held, nobody has more than the quota, and only surplus moves."""
    replicas = sorted(members)
    held: dict[str, set[Slot]] = {name: set() for name in replicas}
    for slot, share in zip(slots(count), shares, strict=False):
        if 0 <= share < len(replicas):
            held[replicas[share]].add(slot)
    most = math.ceil(count / len(replicas))
    surplus = sum(max(0, len(mine) - most) for mine in held.values())
    unheld = count - sum(map(len, held.values()))
    moves = 0
    for _ in range(3):
        order.shuffle(replicas)
        for name in replicas:
            free = set(slots(count)) - set().union(*held.values())
            plan = balance(name, held[name], free, slots=count, replicas=len(replicas), settled=len(replicas))
            assert not set(plan.take) - free
            assert not (plan.take and plan.give)
            held[name] = (held[name] | set(plan.take)) - set(plan.give)
            moves += len(plan.take)
    assert sum(map(len, held.values())) == count
    assert max(map(len, held.values())) <= most == quota(count, len(replicas))
    assert moves == surplus + unheld
    for name in replicas:
        again = balance(name, held[name], (), slots=count, replicas=len(replicas), settled=len(replicas))
        assert again == Plan()


def test_a_replica_that_has_just_joined_gets_nothing_from_others() -> None:
    plan = balance("a", slots(6), (), slots=6, replicas=2, settled=1)
    assert plan == Plan()
    assert len(balance("a", slots(6), (), slots=6, replicas=2, settled=2).give) == 3


def test_a_replica_leaves_room_for_one_that_has_just_joined() -> None:
    assert len(balance("a", (), slots(6), slots=6, replicas=2, settled=1).take) == 3


def test_two_replicas_rarely_want_the_same_slots() -> None:
    orders = {balance(f"replica-{number}", (), slots(6), slots=6, replicas=6, settled=6).take for number in range(50)}
    assert len(orders) == 6
