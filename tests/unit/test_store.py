"""The store: only a newer version adds, replaces or removes an entry, in any order of arrival."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coxswain.kernel.cache.store import HistoryReset, Key, Store
from coxswain.kernel.objects.kinds import Kind
from coxswain.webapp.kinds import CONFIG_MAP, DEPLOYMENT, HORIZONTAL_POD_AUTOSCALER, POD, SERVICE, WEBAPP
from unit.objects import observed_autoscaler, observed_child, observed_webapp

WEB = Key("shop", "web")


def test_an_object_names_the_webapps_to_enqueue() -> None:
    store = Store(WEBAPP)
    assert store.observe(observed_webapp()) == {WEB}
    assert store.observe(observed_child()) == {WEB}
    assert [child.kind for child in store.objects_of(WEB, DEPLOYMENT)] == [DEPLOYMENT]


def test_the_objects_of_a_webapp_are_sorted_by_kind_and_name() -> None:
    store = Store(WEBAPP)
    names = [f"web-{number:010}" for number in range(9)]
    for name in reversed(names):
        store.observe(observed_child(CONFIG_MAP, name))
    store.observe(observed_child())
    found = [(child.kind, child.name) for child in store.objects_of(WEB, DEPLOYMENT, CONFIG_MAP)]
    assert found == [*((CONFIG_MAP, name) for name in names), (DEPLOYMENT, "web")]


def test_an_object_that_changes_its_webapp_names_both() -> None:
    store = Store(WEBAPP)
    store.observe(observed_child(version=10, label="web"))
    assert store.observe(observed_child(version=11, label="other")) == {WEB, Key("shop", "other")}
    assert store.objects_of(WEB, DEPLOYMENT) == []


@pytest.mark.parametrize(("kind", "name"), [(SERVICE, "web"), (CONFIG_MAP, "web-0123456789")])
def test_an_object_with_the_name_of_a_child_enqueues_that_webapp_too(kind: Kind, name: str) -> None:
    """K13: a Service with another WebApp's label blocked the name, and its deletion requeued only that other WebApp."""
    store = Store(WEBAPP)
    store.observe(observed_webapp())
    shop = Key("shop", "shop")
    assert store.observe(observed_child(kind, name, version=20, label="shop")) == {WEB, shop}
    assert store.objects_of(WEB, kind) == []
    assert store.observe(observed_child(kind, name, version=21, label="shop")) == set()
    assert store.forget(kind, Key("shop", name), 22) == {WEB, shop}


def test_a_pod_enqueues_neither_a_namesake_nor_an_absent_webapp() -> None:
    store = Store(WEBAPP)
    assert store.observe(observed_child(SERVICE, "web", label="shop")) == {Key("shop", "shop")}
    store.observe(observed_webapp())
    assert store.observe(observed_child(POD, "web", label="shop")) == {Key("shop", "shop")}


def test_an_autoscaler_is_of_the_webapp_whose_deployment_it_targets() -> None:
    store = Store(WEBAPP)
    assert store.observe(observed_autoscaler(version=10)) == {WEB}
    assert store.objects_of(WEB, HORIZONTAL_POD_AUTOSCALER) == [observed_autoscaler(version=10)]
    assert store.observe(observed_autoscaler("other", version=20)) == {WEB, Key("shop", "other")}
    assert store.objects_of(WEB, HORIZONTAL_POD_AUTOSCALER) == []
    assert store.forget(HORIZONTAL_POD_AUTOSCALER, Key("shop", "scaler"), 30) == {Key("shop", "other")}


def test_an_autoscaler_with_the_same_target_enqueues_nothing() -> None:
    store = Store(WEBAPP)
    store.observe(observed_autoscaler(version=10))
    assert store.observe(observed_autoscaler(version=20)) == set()
    assert store.objects_of(WEB, HORIZONTAL_POD_AUTOSCALER) == [observed_autoscaler(version=20)]


def test_a_child_with_only_a_new_version_enqueues_nothing() -> None:
    store = Store(WEBAPP)
    store.observe(observed_child(version=10))
    assert store.observe(observed_child(version=20)) == set()
    found = store.get(DEPLOYMENT, WEB)
    assert found is not None
    assert found.version == 20
    assert store.observe(observed_child(version=30, uid="another")) == {WEB}


def test_a_webapp_of_another_version_is_enqueued() -> None:
    store = Store(WEBAPP)
    store.observe(observed_webapp(version=10))
    assert store.observe(observed_webapp(version=20)) == {WEB}


def test_the_same_version_enqueues_nothing() -> None:
    store = Store(WEBAPP)
    store.observe(observed_child(version=10))
    assert store.observe(observed_child(version=10)) == set()


def test_a_late_deletion_of_the_old_uid_is_ignored() -> None:
    store = Store(WEBAPP)
    store.observe(observed_child(version=10, uid="old"))
    store.observe(observed_child(version=30, uid="new"))
    assert store.forget(DEPLOYMENT, WEB, 20) == set()
    found = store.get(DEPLOYMENT, WEB)
    assert found is not None
    assert found.uid == "new"


def test_an_old_event_after_the_answer_of_a_write() -> None:
    store = Store(WEBAPP)
    sent_for = observed_child(version=10)
    store.observe(sent_for)
    store.answer(observed_child(version=30), sent_for)
    assert store.observe(observed_child(version=20)) == set()
    assert store.get(DEPLOYMENT, WEB) == observed_child(version=30)


def test_an_answer_after_the_deleted() -> None:
    store = Store(WEBAPP)
    store.observe(observed_child(version=10))
    store.forget(DEPLOYMENT, WEB, 30)
    store.answer(observed_child(version=20), None)
    assert store.get(DEPLOYMENT, WEB) is None


def test_an_answer_after_the_deletion_of_an_unknown_object() -> None:
    store = Store(WEBAPP)
    store.forget(DEPLOYMENT, WEB, 30)
    store.answer(observed_child(version=20), None)
    assert store.get(DEPLOYMENT, WEB) is None


def test_a_page_of_a_list_after_the_deleted() -> None:
    store = Store(WEBAPP)
    store.observe(observed_child(version=10))
    relist = store.begin_relist(DEPLOYMENT, None)
    store.forget(DEPLOYMENT, WEB, 25)
    store.observe(observed_child(version=10))
    store.end_relist(relist, 20, [WEB])
    assert store.get(DEPLOYMENT, WEB) is None


def test_a_relist_removes_absent_objects() -> None:
    store = Store(WEBAPP)
    store.observe(observed_child(version=10))
    assert store.end_relist(store.begin_relist(DEPLOYMENT, None), 20, []) == {WEB}
    assert store.observe(observed_child(version=15)) == set()
    assert store.get(DEPLOYMENT, WEB) is None


def test_a_relist_keeps_objects_newer_than_its_list() -> None:
    store = Store(WEBAPP)
    relist = store.begin_relist(DEPLOYMENT, None)
    store.observe(observed_child(version=30))
    store.end_relist(relist, 20, [])
    assert store.get(DEPLOYMENT, WEB) is not None


def test_a_relist_of_one_namespace_leaves_the_others() -> None:
    store = Store(WEBAPP)
    store.observe(observed_child(version=10))
    store.end_relist(store.begin_relist(DEPLOYMENT, "elsewhere"), 20, [])
    assert store.get(DEPLOYMENT, WEB) is not None


def test_a_list_older_than_the_store_means_a_history_reset() -> None:
    store = Store(WEBAPP)
    store.observe(observed_child(version=50))
    with pytest.raises(HistoryReset):
        store.end_relist(store.begin_relist(DEPLOYMENT, None), 40, [WEB])


def test_a_newer_list_with_an_older_object_means_a_history_reset() -> None:
    store = Store(WEBAPP)
    store.observe(observed_child(version=50))
    store.begin_relist(DEPLOYMENT, None)
    with pytest.raises(HistoryReset):
        store.listed(observed_child(version=40), 60)


def test_a_list_with_a_deleted_object_means_a_history_reset() -> None:
    store = Store(WEBAPP)
    store.forget(DEPLOYMENT, WEB, 50)
    with pytest.raises(HistoryReset):
        store.listed(observed_child(version=40), 60)


def test_an_object_overtaken_by_an_event_is_no_history_reset() -> None:
    store = Store(WEBAPP)
    store.observe(observed_child(version=70))
    assert store.listed(observed_child(version=40), 60) == set()
    store.forget(DEPLOYMENT, WEB, 80)
    assert store.listed(observed_child(version=40), 60) == set()


def test_an_object_of_a_list_is_taken_in() -> None:
    store = Store(WEBAPP)
    assert store.listed(observed_child(version=40), 60) == {WEB}
    assert store.get(DEPLOYMENT, WEB) == observed_child(version=40)


def test_a_list_overtaken_by_events_is_no_history_reset() -> None:
    store = Store(WEBAPP)
    relist = store.begin_relist(DEPLOYMENT, None)
    store.observe(observed_child(version=50))
    store.end_relist(relist, 40, [])
    assert store.get(DEPLOYMENT, WEB) is not None


def test_an_answer_older_than_its_request_means_a_history_reset() -> None:
    store = Store(WEBAPP)
    sent_for = observed_child(version=50)
    store.observe(sent_for)
    with pytest.raises(HistoryReset):
        store.answer(observed_child(version=40), sent_for)


def test_kinds_have_histories_of_their_own() -> None:
    store = Store(WEBAPP)
    store.observe(observed_child(SERVICE, version=500))
    store.end_relist(store.begin_relist(DEPLOYMENT, None), 40, [])


def test_a_get_of_the_same_version_readmits_an_unlabelled_object() -> None:
    store = Store(WEBAPP)
    store.observe(observed_child(version=10))
    store.forget(DEPLOYMENT, WEB, 20)
    assert store.observe(observed_child(version=20)) == {WEB}


def test_tombstones_are_removed_by_the_second_relist() -> None:
    store = Store(WEBAPP)
    store.forget(DEPLOYMENT, WEB, 30)
    store.end_relist(store.begin_relist(DEPLOYMENT, None), 40, [])
    store.observe(observed_child(version=20))
    assert store.get(DEPLOYMENT, WEB) is None
    store.end_relist(store.begin_relist(DEPLOYMENT, None), 50, [])
    assert not store._tombstones._of[DEPLOYMENT]


def test_clear_forgets_everything() -> None:
    store = Store(WEBAPP)
    store.observe(observed_webapp(version=50))
    store.clear()
    assert store.parents() == []
    store.end_relist(store.begin_relist(WEBAPP, None), 1, [])


@dataclass(frozen=True)
class Change:
    """One revision of a name: a new or changed object, or its removal."""

    version: int
    uid: str | None
    """The uid, or None for a removal."""


@st.composite
def lives(draw: st.DrawFn) -> list[Change]:
    """Draw the history of one name: created, changed, deleted and recreated, at growing versions."""
    changes: list[Change] = []
    version, uid, alive = 10, 0, False
    for step in draw(st.lists(st.sampled_from(["change", "delete"]), min_size=1, max_size=8)):
        version += draw(st.integers(1, 3))
        if step == "delete" and not alive:
            continue
        if step == "change" and not alive:
            uid += 1
        alive = step == "change"
        changes.append(Change(version, f"uid-{uid}" if alive else None))
    return changes


def _take(store: Store, change: Change) -> None:
    if change.uid is None:
        store.forget(DEPLOYMENT, WEB, change.version)
    else:
        store.observe(observed_child(version=change.version, uid=change.uid))


@given(
    lives().flatmap(
        lambda life: st.tuples(
            st.just(life), st.permutations(life), st.lists(st.sampled_from(life or [Change(1, None)]))
        )
    )
)
def test_in_any_order_the_newest_version_wins(case: tuple[list[Change], list[Change], list[Change]]) -> None:
    life, shuffled, repeated = case
    store = Store(WEBAPP)
    for change in [*shuffled, *(repeated if life else [])]:
        _take(store, change)
    found = store.get(DEPLOYMENT, WEB)
    last = life[-1] if life else Change(0, None)
    assert (found.uid if found else None) == last.uid
    assert (found.version if found else None) == (last.version if last.uid else None)


@given(lives().filter(bool), st.data())
def test_with_relists_at_any_time_the_newest_version_wins(life: list[Change], data: st.DataObject) -> None:
    """A relist from any past moment, but not older than the store, does no harm between shuffled events."""
    store = Store(WEBAPP)
    before = data.draw(st.lists(st.sampled_from(life)))
    for change in before:
        _take(store, change)
    known = max([change.version for change in before], default=0)
    listed_at = data.draw(st.integers(known, life[-1].version + 2))
    relist = store.begin_relist(DEPLOYMENT, None)
    seen = [change for change in life if change.version <= listed_at]
    meanwhile = data.draw(st.permutations(life))
    cut = data.draw(st.integers(0, len(meanwhile)))
    for change in meanwhile[:cut]:
        _take(store, change)
    present = bool(seen) and seen[-1].uid is not None
    if present:
        _take(store, seen[-1])
    store.end_relist(relist, listed_at, [WEB] if present else [])
    for change in meanwhile[cut:]:
        _take(store, change)
    found = store.get(DEPLOYMENT, WEB)
    assert (found.uid if found else None) == life[-1].uid


def test_the_same_version_twice_enqueues_nothing() -> None:
    store = Store(WEBAPP)
    store.observe(observed_webapp(version=10))
    assert store.observe(observed_webapp(version=10)) == set()


def test_a_listed_webapp_of_the_same_version_with_other_content_is_enqueued() -> None:
    """The CRD has new defaults, which the server adds to stored objects when it reads them."""
    store = Store(WEBAPP)
    store.observe(observed_webapp(version=10))
    read_anew = observed_webapp(version=10, spec={"image": "registry.example/web:1", "replicas": 1})
    assert store.listed(read_anew, 20) == {WEB}
    assert store.parent(WEB) == read_anew
