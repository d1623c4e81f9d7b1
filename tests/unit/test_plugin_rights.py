"""A missing right: what may not be read is unknown, and the plugin says so."""

import json
from collections.abc import Sequence

import pytest

from coxswain.webapp.kinds import DEPLOYMENT, WEBAPP
from kubectl_coxswain.problems import problem_of
from unit.plugin_bench import PluginBench
from unit.test_plugin_changes import foreign
from unit.test_plugin_plan import manifest


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


REVISIONS = (
    "error: the children of WebApp web cannot be compared, because its revisions, which decide how the operator "
    "renders them, cannot be read: you are not allowed to list controllerrevisions.apps in namespace shop\n"
    "next: ask an administrator for the verb list on controllerrevisions.apps; to check: "
    "kubectl auth can-i list controllerrevisions.apps -n shop\n"
)


@pytest.mark.parametrize("words", [("drift", "web"), ("plan", "-f", "-"), ("adopt", "web")])
def test_without_its_revisions_nobody_knows_how_a_webapp_runs(words: tuple[str, ...]) -> None:
    bench = PluginBench()
    without_right(bench, "controllerrevisions")
    assert bench.run(*words, stdin=manifest(image="registry.example/web:2")) == 1
    assert (bench.out, bench.err) == ("", REVISIONS)


def test_a_new_webapp_has_no_revisions() -> None:
    bench = PluginBench()
    without_right(bench, "controllerrevisions")
    [found] = bench.json("plan", "-f", "-", stdin=manifest("other"))["items"]
    assert (found["action"], found["notes"]) == ("Create", [])


def test_without_get_a_missing_child_is_not_compared() -> None:
    """An object without the label may have its name."""
    bench = PluginBench()
    bench.model.delete(DEPLOYMENT.path("shop", "web"))
    bench.kubectl.forbidden.add(("get", "deployments"))
    assert bench.run("drift", "web") == 0
    assert bench.out.startswith("web is as desired in the objects that you may read\n")
    assert (
        "note: Deployment is not compared: you are not allowed to get deployments.apps in namespace shop\n" in bench.err
    )


def test_the_served_version_is_a_note_if_it_may_not_be_seen() -> None:
    """A user without the role system:discovery may not get the path."""
    bench = PluginBench()
    path = WEBAPP.group_path

    def before(words: Sequence[str]) -> None:
        if words[-1] == path:
            raise problem_of(f'Error from server (Forbidden): forbidden: User "bob" cannot get path "{path}"')

    bench.kubectl.before = before
    assert bench.run("version", "-o", "json") == 0
    found = json.loads(bench.out)
    assert (found["server"], found["api"]) == ("v1.36.3", "")
    note = "it is unknown whether the cluster serves coxswain.dev/v1: you are not allowed to get /apis/coxswain.dev/v1"
    assert note in found["notes"]
