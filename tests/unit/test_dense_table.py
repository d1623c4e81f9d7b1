"""The table of many similar objects: as correct as a dict, and small."""

import pickle
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from coxswain.kernel.cache.dense_table import DenseTable
from coxswain.kernel.cache.packed_table import packed_fields
from coxswain.kernel.cache.store import Key
from coxswain.kernel.objects.projection import Projection
from coxswain.webapp.kinds import CONTROLLER_REVISION
from unit.release_bench import ReleaseBench

PLACES = st.integers(0, 9)


def revision() -> Projection:
    """Return a revision in the cache."""
    bench = ReleaseBench()
    bench.settle()
    bench.roll_out()
    (found,) = bench.store.objects_of(bench.world.key, CONTROLLER_REVISION)
    return found


REVISION = revision()


@given(st.lists(st.tuples(st.sampled_from(["put", "remove", "get"]), PLACES), max_size=40))
def test_it_holds_what_was_put_last(steps: list[tuple[str, int]]) -> None:
    table, expected = DenseTable[int](CONTROLLER_REVISION, recent=2), dict[int, Projection]()
    for number, (what, place) in enumerate(steps):
        if what == "put":
            expected[place] = replace(REVISION, name=f"web-{number}", version=number)
            table.put(place, expected[place])
        elif what == "remove":
            expected.pop(place, None)
            table.remove(place)
        assert table.get(place) == expected.get(place)
    assert {place: table.get(place) for place in table} == expected
    assert len(table) == len(expected)
    assert all((place in table) == (place in expected) for place in range(10))


def test_a_revision_takes_a_fourth_of_its_size() -> None:
    table = DenseTable[Key](CONTROLLER_REVISION)
    for number in range(300):
        name, uid = f"app-{number}-{number * 7919:010x}", f"{number:08x}-0000-4000-8000-{number * 104729:012x}"
        observed = replace(REVISION, name=name, uid=uid, version=1000 + number, label=f"app-{number}")
        table.put(Key("shop", name), observed)
    size = len(pickle.dumps(packed_fields(REVISION), pickle.HIGHEST_PROTOCOL))
    assert sum(len(each) for each in table._packed.values()) / len(table) < size / 4


def test_a_large_revision_is_never_kept_unpacked() -> None:
    """S4: the number of unpacked revisions was limited, but not their size."""
    table = DenseTable[int](CONTROLLER_REVISION)
    large = replace(REVISION, content={**REVISION.content, "data": {"command": "x" * 900_000}})
    for place, observed in enumerate([REVISION, large, REVISION]):
        table.put(place, observed)
        assert table.get(place) == observed
    assert list(table._recent) == [0, 2]
    table.put(0, large)
    assert table.get(0) == large
    assert list(table._recent) == [2]
