"""The children of a WebApp that nothing is written for: objects of some kinds can't be listed."""

from collections.abc import Mapping

from coxswain.control.result import Result
from coxswain.control.store import Key, Store
from coxswain.kube.kinds import kind_of
from coxswain.webapp.children import desired
from coxswain.webapp.health import Child, health, held_back, not_listed
from coxswain.webapp.spec import WebApp


def untouched(webapp: WebApp, store: Store, unlisted: Mapping[str, str]) -> list[Result]:
    """Return the children as far as they are known; `unlisted` has the kinds that can't be listed, and why."""
    results = []
    for manifest in desired(webapp):
        kind, name = manifest["kind"], manifest["metadata"]["name"]
        known = store.get(kind_of(manifest), Key(webapp.namespace, name))
        live = known if known is not None and known.is_child_of(webapp) else None
        if kind in unlisted:
            state = not_listed(unlisted[kind])
        elif live is not None:
            state = health(live.content)
        else:
            state = held_back(f"list of each {' and '.join(unlisted)}", there=False)
        results.append(Result(Child(kind, name, state), live, looked=False))
    return results
