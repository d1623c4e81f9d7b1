"""The store: only something newer adds, replaces or removes an entry, in whatever order the news comes."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coxswain.kernel.cache.store import HistoryReset, Key, Store
from coxswain.kernel.objects.kinds import Kind
from coxswain.webapp.kinds import CONFIG_MAP, DEPLOYMENT, HORIZONTAL_POD_AUTOSCALER, POD, SERVICE, WEBAPP
from unit.objects import observed_autoscaler, observed_child, observed_webapp

WEB = Key("shop", "web")


def test_an_object_names_the_webapps_to_look_at() -> None:
    store = Store(WEBAPP)
    assert store.observe(observed_webapp()) == {WEB}
    assert store.observe(observed_child()) == {WEB}
    assert [child.kind for child in store.objects_of(WEB, DEPLOYMENT)] == [DEPLOYMENT]


def test_an_object_that_changes_its_webapp_names_both() -> None:
    store = Store(WEBAPP)
    store.observe(observed_child(version=10, label="web"))
    assert store.observe(observed_child(version=11, label="other")) == {WEB, Key("shop", "other")}
    assert store.objects_of(WEB, DEPLOYMENT) == []


@pytest.mark.parametrize(("kind", "name"), [(SERVICE, "web"), (CONFIG_MAP, "web-0123456789")])
def test_an_object_that_bears_a_childs_name_concerns_that_webapp_too(kind: Kind, name: str) -> None:
    """K13: a Service with the label of another WebApp was in the way, and its end woke only the other one."""
    store = Store(WEBAPP)
    store.observe(observed_webapp())
    shop = Key("shop", "shop")
    assert store.observe(observed_child(kind, name, version=20, label="shop")) == {WEB, shop}
    assert store.objects_of(WEB, kind) == []
    assert store.observe(observed_child(kind, name, version=21, label="shop")) == set()
    assert store.forget(kind, Key("shop", name), 22) == {WEB, shop}


def test_a_pod_concerns_no_namesake_and_a_webapp_that_is_not_there_is_not_looked_at() -> None:
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


def test_an_autoscaler_with_the_same_target_is_no_news() -> None:
    store = Store(WEBAPP)
    store.observe(observed_autoscaler(version=10))
    assert store.observe(observed_autoscaler(version=20)) == set()
    assert store.objects_of(WEB, HORIZONTAL_POD_AUTOSCALER) == [observed_autoscaler(version=20)]


def test_a_child_with_nothing_new_but_its_version_is_no_news() -> None:
    store = Store(WEBAPP)
    store.observe(observed_child(version=10))
    assert store.observe(observed_child(version=20)) == set()
    found = store.get(DEPLOYMENT, WEB)
    assert found is not None
    assert found.version == 20
    assert store.observe(observed_child(version=30, uid="another")) == {WEB}


def test_a_webapp_of_another_version_is_news() -> None:
    store = Store(WEBAPP)
    store.observe(observed_webapp(version=10))
    assert store.observe(observed_webapp(version=20)) == {WEB}


def test_the_same_version_is_no_news() -> None:
    store = Store(WEBAPP)
    store.observe(observed_child(version=10))
    assert store.observe(observed_child(version=10)) == set()


def test_deleted_of_the_old_uid_after_added_of_the_new() -> None:
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


def test_an_answer_after_the_deleted_of_what_was_never_known() -> None:
    store = Store(WEBAPP)
    store.forget(DEPLOYMENT, WEB, 30)
    store.answer(observed_child(version=20), None)
    assert store.get(DEPLOYMENT, WEB) is None


def test_a_page_of_a_list_after_the_deleted() -> None:
    store = Store(WEBAPP)
    store.observe(observed_child(version=10))
    sweep = store.begin_relist(DEPLOYMENT, None)
    store.forget(DEPLOYMENT, WEB, 25)
    store.observe(observed_child(version=10))
    store.end_relist(sweep, 20, [WEB])
    assert store.get(DEPLOYMENT, WEB) is None


def test_a_sweep_removes_what_it_did_not_find() -> None:
    store = Store(WEBAPP)
    store.observe(observed_child(version=10))
    assert store.end_relist(store.begin_relist(DEPLOYMENT, None), 20, []) == {WEB}
    assert store.observe(observed_child(version=15)) == set()
    assert store.get(DEPLOYMENT, WEB) is None


def test_a_sweep_keeps_what_came_after_its_list() -> None:
    store = Store(WEBAPP)
    sweep = store.begin_relist(DEPLOYMENT, None)
    store.observe(observed_child(version=30))
    store.end_relist(sweep, 20, [])
    assert store.get(DEPLOYMENT, WEB) is not None


def test_a_sweep_of_one_namespace_leaves_the_others() -> None:
    store = Store(WEBAPP)
    store.observe(observed_child(version=10))
    store.end_relist(store.begin_relist(DEPLOYMENT, "elsewhere"), 20, [])
    assert store.get(DEPLOYMENT, WEB) is not None


def test_a_list_older_than_the_store_means_that_history_was_reset() -> None:
    store = Store(WEBAPP)
    store.observe(observed_child(version=50))
    with pytest.raises(HistoryReset):
        store.end_relist(store.begin_relist(DEPLOYMENT, None), 40, [WEB])


def test_a_list_that_has_caught_up_shows_by_an_older_object_that_history_was_reset() -> None:
    store = Store(WEBAPP)
    store.observe(observed_child(version=50))
    store.begin_relist(DEPLOYMENT, None)
    with pytest.raises(HistoryReset):
        store.listed(observed_child(version=40), 60)


def test_a_list_that_has_what_was_deleted_shows_that_history_was_reset() -> None:
    store = Store(WEBAPP)
    store.forget(DEPLOYMENT, WEB, 50)
    with pytest.raises(HistoryReset):
        store.listed(observed_child(version=40), 60)


def test_an_object_of_a_list_that_an_event_has_overtaken_is_no_reset() -> None:
    store = Store(WEBAPP)
    store.observe(observed_child(version=70))
    assert store.listed(observed_child(version=40), 60) == set()
    store.forget(DEPLOYMENT, WEB, 80)
    assert store.listed(observed_child(version=40), 60) == set()


def test_an_object_of_a_list_is_taken_in() -> None:
    store = Store(WEBAPP)
    assert store.listed(observed_child(version=40), 60) == {WEB}
    assert store.get(DEPLOYMENT, WEB) == observed_child(version=40)


def test_a_list_that_news_has_overtaken_is_no_reset() -> None:
    store = Store(WEBAPP)
    sweep = store.begin_relist(DEPLOYMENT, None)
    store.observe(observed_child(version=50))
    store.end_relist(sweep, 40, [])
    assert store.get(DEPLOYMENT, WEB) is not None


def test_an_answer_older_than_what_it_was_sent_for_means_that_history_was_reset() -> None:
    store = Store(WEBAPP)
    sent_for = observed_child(version=50)
    store.observe(sent_for)
    with pytest.raises(HistoryReset):
        store.answer(observed_child(version=40), sent_for)


def test_kinds_have_histories_of_their_own() -> None:
    store = Store(WEBAPP)
    store.observe(observed_child(SERVICE, version=500))
    store.end_relist(store.begin_relist(DEPLOYMENT, None), 40, [])


def test_what_left_the_label_filter_is_let_in_again_by_a_get_of_the_same_version() -> None:
    store = Store(WEBAPP)
    store.observe(observed_child(version=10))
    store.forget(DEPLOYMENT, WEB, 20)
    assert store.observe(observed_child(version=20)) == {WEB}


def test_tombstones_go_with_the_second_sweep_after_them() -> None:
    store = Store(WEBAPP)
    store.forget(DEPLOYMENT, WEB, 30)
    store.end_relist(store.begin_relist(DEPLOYMENT, None), 40, [])
    store.observe(observed_child(version=20))
    assert store.get(DEPLOYMENT, WEB) is None
    store.end_relist(store.begin_relist(DEPLOYMENT, None), 50, [])
    assert not store._tombstones[DEPLOYMENT]


def test_clear_forgets_everything() -> None:
    store = Store(WEBAPP)
    store.observe(observed_webapp(version=50))
    store.clear()
    assert store.parents() == []
    store.end_relist(store.begin_relist(WEBAPP, None), 1, [])


@dataclass(frozen=True)
class Change:
    """One revision in the life of a name: a new or changed object, or its removal."""

    version: int
    uid: str | None
    """None for a removal."""


@st.composite
def lives(draw: st.DrawFn) -> list[Change]:
    """The history of one name: created, changed, deleted, created anew, at growing versions."""
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
def test_whatever_the_order_the_end_is_the_newest(case: tuple[list[Change], list[Change], list[Change]]) -> None:
    life, shuffled, repeated = case
    store = Store(WEBAPP)
    for change in [*shuffled, *(repeated if life else [])]:
        _take(store, change)
    found = store.get(DEPLOYMENT, WEB)
    last = life[-1] if life else Change(0, None)
    assert (found.uid if found else None) == last.uid
    assert (found.version if found else None) == (last.version if last.uid else None)


@given(lives().filter(bool), st.data())
def test_sweeps_at_any_time_and_any_news_before_and_after_end_at_the_newest(
    life: list[Change], data: st.DataObject
) -> None:
    """A sweep whose LIST saw any moment of the past (not older than what was known) does no harm amid shuffled news."""
    store = Store(WEBAPP)
    before = data.draw(st.lists(st.sampled_from(life)))
    for change in before:
        _take(store, change)
    known = max([change.version for change in before], default=0)
    listed_at = data.draw(st.integers(known, life[-1].version + 2))
    sweep = store.begin_relist(DEPLOYMENT, None)
    seen = [change for change in life if change.version <= listed_at]
    meanwhile = data.draw(st.permutations(life))
    cut = data.draw(st.integers(0, len(meanwhile)))
    for change in meanwhile[:cut]:
        _take(store, change)
    present = bool(seen) and seen[-1].uid is not None
    if present:
        _take(store, seen[-1])
    store.end_relist(sweep, listed_at, [WEB] if present else [])
    for change in meanwhile[cut:]:
        _take(store, change)
    found = store.get(DEPLOYMENT, WEB)
    assert (found.uid if found else None) == life[-1].uid


def test_the_same_version_again_is_no_news() -> None:
    store = Store(WEBAPP)
    store.observe(observed_webapp(version=10))
    assert store.observe(observed_webapp(version=10)) == set()


def test_a_listed_webapp_of_the_same_version_that_reads_differently_is_news() -> None:
    """The CRD has other defaults now: the server fills them in when it reads."""
    store = Store(WEBAPP)
    store.observe(observed_webapp(version=10))
    read_anew = observed_webapp(version=10, spec={"image": "registry.example/web:1", "replicas": 1})
    assert store.listed(read_anew, 20) == {WEB}
    assert store.parent(WEB) == read_anew
