"""The store against a model: events in any order, duplicated and late, lead to the true state."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from coxswain.kernel.cache.store import HistoryReset, Key, Relist, Store
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Projection
from coxswain.webapp.kinds import SERVICE, WEBAPP
from unit.objects import observed_child, observed_webapp

NAMES = ("one", "two")
Place = tuple[Kind, str]
State = dict[Place, Projection]

kinds = st.sampled_from([WEBAPP, SERVICE])
names = st.sampled_from(NAMES)
webapps = st.sampled_from(["one", "two", None])
changes = st.tuples(kinds, names, webapps)


def key(name: str) -> Key:
    """Return the key of the object with this name."""
    return Key("shop", name)


def seen_by_watches(observed: Projection) -> bool:
    """Tell whether the label selector of the watch matches the object."""
    return observed.kind is WEBAPP or observed.label is not None


@dataclass(frozen=True)
class News:
    """An event, a write response or a GET response in transit."""

    place: Place
    version: int
    observed: Projection | None
    """None after a deletion, or if the label selector no longer matches."""
    born: int
    """Number of earlier relists of the kind when it was sent. It never arrives after two more relists."""
    epoch: int
    is_answer: bool = False
    sent_for: Projection | None = None


@dataclass
class Listing:
    """An active relist, with the content of its LIST once the server has answered."""

    relist: Relist
    version: int | None = None
    pages: list[Projection] = field(default_factory=list)
    found: list[Key] = field(default_factory=list)


class StoreMachine(RuleBasedStateMachine):
    """A true history, and a store that receives its events."""

    on_its_way = Bundle("on_its_way")

    @initialize(restores=st.booleans())
    def begin(self, restores: bool) -> None:
        self.restores = restores
        self.store = Store(WEBAPP)
        self.version = 10
        self.uids = 0
        self.truth: State = {}
        self.backups: list[tuple[int, State]] = []
        self.restored = False
        self.forget_all()

    def forget_all(self) -> None:
        """Start over, like the manager after a history reset."""
        self.store.clear()
        self.epoch = getattr(self, "epoch", 0) + 1
        self.relists: dict[Kind, Listing] = {}
        self.ended = {WEBAPP: 0, SERVICE: 0}
        self.floors: dict[Place, int] = {}
        self.undelivered: list[News] = []
        self.restored = False

    # Changes in the cluster.

    def write(self, kind: Kind, name: str, webapp: str | None) -> Projection:
        before = self.truth.get((kind, name))
        self.version += 1
        self.uids += before is None
        uid = before.uid if before else f"uid-{self.uids}"
        if kind is WEBAPP:
            after = observed_webapp(name, version=self.version, uid=uid)
        else:
            after = observed_child(kind, name, version=self.version, uid=uid, label=webapp)
        self.truth[kind, name] = after
        return after

    def tell(self, before: Projection | None, after: Projection | None, place: Place) -> Any:
        """Return the event that a watch with its label selector sends for a change."""
        was = before is not None and seen_by_watches(before)
        now = after is not None and seen_by_watches(after)
        if not was and not now:
            return multiple()
        news = News(place, self.version, after if now else None, self.ended[place[0]], self.epoch)
        self.undelivered.append(news)
        return news

    @rule(target=on_its_way, change=changes)
    def somebody_writes(self, change: tuple[Kind, str, str | None]) -> Any:
        kind, name, webapp = change
        before = self.truth.get((kind, name))
        return self.tell(before, self.write(kind, name, webapp), (kind, name))

    @rule(target=on_its_way, change=changes)
    def somebody_deletes(self, change: tuple[Kind, str, str | None]) -> Any:
        place = change[:2]
        before = self.truth.pop(place, None)
        self.version += before is not None
        return self.tell(before, None, place)

    @rule(target=on_its_way, change=changes)
    def we_write(self, change: tuple[Kind, str, str | None]) -> Any:
        """The response may arrive long before or after the event. The label selector may hide its object."""
        kind, name, webapp = change
        before = self.truth.get((kind, name))
        sent_for = self.store.get(kind, key(name))
        after = self.write(kind, name, webapp)
        self.tell(before, after, (kind, name))
        return News((kind, name), after.version, after, self.ended[kind], self.epoch, True, sent_for)

    @rule(target=on_its_way, kind=kinds, name=names)
    def we_get(self, kind: Kind, name: str) -> Any:
        found = self.truth.get((kind, name))
        if found is None:
            return multiple()
        return News((kind, name), found.version, found, self.ended[kind], self.epoch)

    # Deliveries to the store, at random times and any number of times.

    def deliver(self, news: News) -> None:
        kind, name = news.place
        try:
            if news.observed is None:
                self.store.forget(kind, key(name), news.version)
                self.raise_floor(news.place, news.version)
            elif news.is_answer:
                self.store.answer(news.observed, news.sent_for)
            else:
                self.store.observe(news.observed)
        except HistoryReset:
            assert self.restored
            self.forget_all()

    def raise_floor(self, place: Place, version: int) -> None:
        self.floors[place] = max(version, self.floors.get(place, 0))

    @rule(news=on_its_way)
    def comes_again(self, news: News) -> None:
        self.comes(news)

    @rule(news=on_its_way)
    def comes(self, news: News) -> None:
        if news.epoch == self.epoch and self.ended[news.place[0]] - news.born < 2:
            self.deliver(news)

    @rule(news=consumes(on_its_way))
    def is_lost(self, news: News) -> None:
        """A gap of a watch: a relist must find the change."""
        if news in self.undelivered:
            self.undelivered.remove(news)

    @rule(kind=kinds)
    def relist_begins(self, kind: Kind) -> None:
        if kind not in self.relists:
            self.relists[kind] = Listing(self.store.begin_relist(kind, None))

    @precondition(lambda self: self.relists)
    @rule(kind=kinds)
    def relist_is_answered(self, kind: Kind) -> None:
        listing = self.relists.get(kind)
        if listing and listing.version is None:
            listing.version = self.version
            listing.pages = [seen for (of, _), seen in self.truth.items() if of is kind and seen_by_watches(seen)]

    @precondition(lambda self: any(each.pages for each in self.relists.values()))
    @rule(kind=kinds)
    def page_comes(self, kind: Kind) -> None:
        listing = self.relists.get(kind)
        if listing and listing.version is not None and listing.pages:
            observed = listing.pages.pop()
            listing.found.append(key(observed.name))
            try:
                self.store.listed(observed, listing.version)
            except HistoryReset:
                assert self.restored
                self.forget_all()

    @precondition(lambda self: any(not each.pages for each in self.relists.values()))
    @rule(kind=kinds)
    def relist_ends(self, kind: Kind) -> None:
        listing = self.relists.get(kind)
        if not listing or listing.version is None or listing.pages:
            return
        del self.relists[kind]
        before = {name for name in NAMES if self.store.get(kind, key(name))}
        try:
            self.store.end_relist(listing.relist, listing.version, listing.found)
        except HistoryReset:
            assert self.restored
            self.forget_all()
            return
        self.ended[kind] += 1
        for name in before:
            if self.store.get(kind, key(name)) is None:
                self.raise_floor((kind, name), listing.version)

    # Actions of an administrator.

    @precondition(lambda self: self.restores)
    @rule()
    def backup(self) -> None:
        self.backups.append((self.version, dict(self.truth)))

    @precondition(lambda self: self.backups and not self.restored)
    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        version, truth = data.draw(st.sampled_from(self.backups))
        self.backups = [each for each in self.backups if each[0] <= version]
        self.version, self.truth = version, dict(truth)
        self.restored = True
        # Events of the lost history may still arrive, but the store need not receive them.
        self.undelivered.clear()
        # The connections broke, so no LIST continues across a restore.
        self.relists.clear()

    # Invariants.

    @invariant()
    def nothing_older_comes_back(self) -> None:
        if self.restored:
            return
        for kind, name in [(kind, name) for kind in (WEBAPP, SERVICE) for name in NAMES]:
            held = self.store.get(kind, key(name))
            if held is not None:
                assert held.version >= self.floors.get((kind, name), 0)
                self.raise_floor((kind, name), held.version)

    @invariant()
    def the_index_is_what_the_entries_say(self) -> None:
        for webapp in NAMES:
            held = [self.store.get(SERVICE, key(name)) for name in sorted(NAMES)]
            assert self.store.objects_of(key(webapp), SERVICE) == [
                each for each in held if each and each.label == webapp
            ]

    @invariant()
    def tombstones_are_of_what_is_not_there(self) -> None:
        for kind in (WEBAPP, SERVICE):
            assert all(self.store.get(kind, place) is None for place in self.store._tombstones._of.get(kind, ()))

    @invariant()
    def latest_changes_are_of_parents_or_of_objects(self) -> None:
        held = {
            key(name) for name in NAMES if self.store.parent(key(name)) or self.store.objects_of(key(name), SERVICE)
        }
        assert set(self.store._latest._versions) == held

    def all_is_delivered_and_relisted(self) -> None:
        for news in list(self.undelivered):
            if news.epoch == self.epoch:
                self.deliver(news)
        self.undelivered.clear()
        # A reset causes a relist of all kinds. No further reset may follow.
        epoch = 0
        while epoch != self.epoch:
            epoch = self.epoch
            for kind in (WEBAPP, SERVICE):
                self.relist_twice(kind)
        assert {
            (kind, name): held
            for kind in (WEBAPP, SERVICE)
            for name in NAMES
            if (held := self.store.get(kind, key(name)))
        } == {place: observed for place, observed in self.truth.items() if seen_by_watches(observed)}
        # The store holds the restored state by now, so it is the true one.
        self.restored = False
        self.epoch += 1
        self.floors.clear()

    def relist_twice(self, kind: Kind) -> None:
        """Relist a kind twice without interruption. The first relist may have begun before a change."""
        for _ in range(2):
            self.relist_begins(kind)
            self.relist_is_answered(kind)
            while self.relists.get(kind) and self.relists[kind].pages:
                self.page_comes(kind)
            self.relist_ends(kind)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.all_is_delivered_and_relisted()
            for kind in (WEBAPP, SERVICE):
                self.relist_twice(kind)
            tombstones = [place for kind in (WEBAPP, SERVICE) for place in self.store._tombstones._of.get(kind, ())]
            assert not tombstones, "the second relist removes a tombstone"


TestStore = pytest.mark.thorough(StoreMachine.TestCase)
TestStore.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
