"""The walkthrough of docs/releases.md, from a bad image to the undo, as a reader types it."""

import re
from pathlib import Path

import pytest

from integration.plugin_process import Plugin
from integration.scene import Scene

PAGE = Path(__file__).parents[2] / "docs" / "releases.md"
SECONDS = 200.0
MISSING = '"registry.k8s.io/e2e-test-images/agnhost:typo"'
FATE = f'{MISSING},"annotations":{{"kwok.test/fate":"image-missing"}}'
"""No kubelet pulls images here, so the pods are told their fate."""


def steps() -> list[str]:
    """Return the scripts between the sentences of the walkthrough."""
    text = PAGE.read_text(encoding="utf-8").partition("## From a bad image to the undo\n")[2]
    blocks = re.findall(r"(?:^    .*\n)+", text, re.MULTILINE)
    return [re.sub(r"^ {4}", "", block, flags=re.MULTILINE) for block in blocks]


@pytest.mark.slow
def test_the_walkthrough_does_what_it_says(scene: Scene) -> None:
    plugin = Plugin(scene)
    create, change, wait, undo = steps()
    assert MISSING in change
    ended = []
    for script, answers in ((create, ""), (change.replace(MISSING, FATE), ""), (wait, ""), (undo, "y\n")):
        done = plugin.shell(script, SECONDS, answers)
        print("".join(f"$ {line}\n" for line in script.splitlines()) + done.out + done.err)
        assert done.code == 0, done.err
        ended.append(done)
    told, undone = ended[2].out, ended[3]
    assert "the image cannot be pulled" in told
    assert f"kubectl coxswain undo shop -n {scene.namespace}" in told
    assert len(re.findall(r"^shop-", told, re.MULTILINE)) == 2, "both revisions are listed"
    assert "Pods restart: no" in undone.out, "revision 1 runs already"
    assert f"Return WebApp shop in namespace {scene.namespace} to revision 1?" in undone.err
    webapp = scene.get("webapp", "shop")
    assert webapp["spec"]["image"].endswith("agnhost:2.53")
    assert "annotations" not in webapp["spec"]
    assert webapp["status"]["revision"] == 3, "a spec that comes back takes the next number"
