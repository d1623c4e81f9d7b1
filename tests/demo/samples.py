"""Applies the WebApps of manifests/samples, waits for them, and draws them, for all demos."""

import json
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

from demo.tree import KINDS, Object, readiness, tree

ROOT = Path(__file__).parents[2]
NAMESPACE = "default"
READY_TIMEOUT_SECONDS = 180.0
POLL_SECONDS = 0.25

Kubectl = Callable[..., str]
"""Calls kubectl with these arguments and returns its output."""


class NotReady(RuntimeError):
    """A WebApp did not become Ready in time; the message has its condition."""


def apply_samples(
    kubectl: Kubectl, check: Callable[[], None], kustomization: Path = ROOT / "manifests/samples"
) -> None:
    """Apply the samples, wait until all are Ready, and draw the resulting objects.

    `check` is called during the wait; its exceptions end the wait. Raises NotReady.
    """
    say("The WebApps of manifests/samples:")
    started = time.monotonic()
    kubectl("apply", "--kustomize", str(kustomization), "--namespace", NAMESPACE)
    _wait_until_ready(kubectl, check)
    say(f"  all Ready after {time.monotonic() - started:.1f} s\n")
    draw(kubectl)


def draw(kubectl: Kubectl) -> None:
    """Print the WebApps and their dependents as a tree."""
    say("\n".join(tree(_list(kubectl, ",".join(kind.lower() + "s" for kind in KINDS)))))


def say(line: str) -> None:
    """Print a line immediately."""
    print(line, flush=True)


def _wait_until_ready(kubectl: Kubectl, check: Callable[[], None]) -> None:
    deadline = time.monotonic() + READY_TIMEOUT_SECONDS
    told = ""
    while True:
        reasons = [f"{name}: {why}" for name, why in map(readiness, _list(kubectl, "webapps")) if why is not None]
        if not reasons:
            _refresh("")
            return
        line = "; ".join(reasons)
        if sys.stdout.isatty():
            _refresh(f"  {line} ({deadline - time.monotonic():.0f} s left)")
        elif line != told:
            say(f"  {line}")
        told = line
        if time.monotonic() > deadline:
            raise NotReady(f"not Ready after {READY_TIMEOUT_SECONDS:.0f} s: {line}")
        check()
        time.sleep(POLL_SECONDS)


def _refresh(line: str) -> None:
    """Replace the previous line, on a terminal."""
    if sys.stdout.isatty():
        print("\r\x1b[K" + line[: shutil.get_terminal_size().columns - 1], end="", flush=True)


def _list(kubectl: Kubectl, kinds: str) -> list[Object]:
    items: list[Object] = json.loads(kubectl("get", kinds, "--namespace", NAMESPACE, "-o", "json"))["items"]
    return items
