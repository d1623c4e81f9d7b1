"""A missing right: what may not be read is unknown, and the plugin says so."""

import pytest

from unit.plugin_bench import PluginBench
from unit.test_plugin_changes import foreign


def without_right(bench: PluginBench, *plurals: str) -> None:
    """Let the user neither get nor list some kinds."""
    bench.kubectl.forbidden |= {(verb, plural) for plural in plurals for verb in ("get", "list")}


@pytest.mark.parametrize("kinds", [[], ["serviceaccount"]])
def test_adopt_does_not_deny_what_may_exist(kinds: list[str]) -> None:
    bench = foreign()
    without_right(bench, "serviceaccounts")
    assert bench.run("adopt", "web", *kinds) == 1
    assert "ServiceAccount/web: you are not allowed to list serviceaccounts in namespace shop" in bench.err
    assert "error: it is not known whether there is anything to adopt for WebApp web" in bench.err
    assert bench.err.endswith("next: kubectl coxswain why web -n shop\n")
