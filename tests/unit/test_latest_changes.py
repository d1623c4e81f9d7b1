"""The order of a backlog: the parents with the latest changes come first."""

from coxswain.kernel.cache.store import Key, Store
from coxswain.webapp.kinds import DEPLOYMENT, WEBAPP
from unit.objects import observed_child, observed_webapp


def test_the_parent_with_the_latest_change_comes_first() -> None:
    store, names = Store(WEBAPP), ("a", "b", "c", "d")
    keys = [Key("shop", name) for name in names]
    a, b, c, d = keys
    for version, name in enumerate(names, start=10):
        store.observe(observed_webapp(name=name, version=version))
        store.observe(observed_child(name=name, label=name, version=20 - version))
    assert store.latest_first(keys) == [d, c, b, a], "an older object that arrives later does not count"
    store.observe(observed_webapp(name="b", version=20))
    store.observe(observed_child(name="c", label="c", version=22, uid="child-2"))
    store.forget(DEPLOYMENT, a, 21)
    assert store.latest_first(keys) == [c, a, b, d]
    store.observe(observed_child(name="d", label="d", version=30))
    assert store.latest_first(keys) == [c, a, b, d], "nothing but the resourceVersion differs"
