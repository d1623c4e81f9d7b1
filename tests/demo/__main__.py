"""The demo: a throwaway Kubernetes, the operator with the rights of manifests/, and the WebApps of manifests/samples/.

`make demo` runs it; `python -m demo --help` has its options.
"""

import argparse
import os
import shlex
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from cluster.control_plane import ControlPlane
from cluster.gateway_api import gateway_crds
from cluster.kubectl import KubectlError
from cluster.network_namespace import pods_are_reachable
from cluster.operator_process import LogTail, OperatorProcess
from demo.public import enter_namespace, entrance, obstacle, public_webapp
from demo.samples import NAMESPACE, POLL_SECONDS, ROOT, apply_samples, draw, say

QUIET_SECONDS = 2.0
"""With --try: a command's output is complete after this time without a log line of the operator."""


@dataclass(frozen=True)
class Trial:
    """A command to try, and its effect."""

    command: str
    shows: str


OTHER_IMAGE = "registry.k8s.io/e2e-test-images/agnhost:2.40"
TRIALS = (
    Trial("kubectl get webapps -o wide", "the status, in one line for each WebApp"),
    Trial("kubectl scale deployment hello --replicas=5", "corrected to 1; an Event names the manager and the remedy"),
    Trial("kubectl scale webapp hello --replicas=3", "the right command: the Deployment follows"),
    Trial(f"kubectl set image deployment/hello app={OTHER_IMAGE}", "corrected: the WebApp defines the image"),
    Trial("kubectl delete service hello", "created again"),
    Trial("kubectl label deployment hello mine=yes", "kept: fields outside of the WebApp's spec are yours"),
    Trial("kubectl rollout restart deployment hello", "new pods; the operator keeps the annotation set by kubectl"),
    Trial(
        """kubectl patch webapp shop --type=merge -p '{"spec":{"config":{"LOG_LEVEL":"debug"}}}'""",
        "a new ConfigMap and a rollout; the old one stays while a kept revision needs it",
    ),
    Trial(
        """kubectl patch webapp hello --type=merge -p '{"spec":{"runAsUser":0}}'""",
        "refused by the API server, with the reason, before the operator sees it",
    ),
    Trial("kubectl events --for webapp/hello", "the operator's Events about all this"),
    Trial("kubectl describe webapp hello", "conditions, children and Events in one page"),
    Trial("kubectl delete webapp shop", "the garbage collector deletes its children; no finalizer delays the deletion"),
)


WATCH = Trial("kubectl get webapps --watch", "each change as it arrives; keep it running in a third terminal")
"""Proposed only: it never ends."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo and return its exit code. SIGTERM stops it like Ctrl-C."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        gateway = _has_gateway() if options.gateway is None else options.gateway
        if gateway and not pods_are_reachable():
            enter_namespace(sys.argv[1:] if arguments is None else arguments)
        with ExitStack() as running:
            cluster = running.enter_context(_kubernetes(gateway_crds() if gateway else []))
            operator = running.enter_context(_operator(cluster))
            apply_samples(cluster.kubectl, lambda: _check(cluster, operator))
            if gateway:
                running.enter_context(public_webapp(cluster))
            if options.tries:
                _try(cluster, operator)
            elif options.once or not sys.stdin.isatty():
                say("\nIn a terminal the demo keeps running, so that you can try this in a second one:")
                _propose()
            else:
                _stay(cluster, operator, entrance(os.getpid()) if gateway else [])
    except (RuntimeError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted, and stopped", file=sys.stderr)
        return 130
    say("stopped; all data is removed")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m demo",
        description="Start a throwaway Kubernetes with the operator and the WebApps of manifests/samples/, draw "
        "the resulting objects, and show the operator's log until Ctrl-C. If standard input is no terminal, exit "
        "after the drawing.",
    )
    parser.add_argument("--once", action="store_true", help="exit after the drawing")
    parser.add_argument(
        "--try", dest="tries", action="store_true", help="run the proposed commands, show their effects, and exit"
    )
    parser.add_argument(
        "--gateway",
        action=argparse.BooleanOptionalAction,
        help="in a network namespace, with Contour and Envoy: a WebApp is reached by its public URLs. By default, if "
        "both programs are there already; --gateway gets them",
    )
    return parser


def _has_gateway() -> bool:
    why = obstacle()
    if why:
        say(f"Without a public URL ({why}). With `--gateway` the demo gets Contour and Envoy, and has one.")
    return not why


@contextmanager
def _kubernetes(further_crds: Sequence[Path]) -> Iterator[ControlPlane]:
    say("Kubernetes: etcd, API server, controllers, scheduler. The first time, getting the programs takes minutes.")
    crds = [*sorted((ROOT / "crds").glob("*.yaml")), *further_crds]
    with ControlPlane(manifests=crds, progress=lambda line: say(f"  {line}")) as cluster:
        say("  KWOK simulates pods: API objects, controllers and operator are real, but no container runs.")
        programs = cluster.directory / "bin"
        programs.mkdir()
        (programs / "kubectl").symlink_to(cluster.programs["kubectl"])
        try:
            yield cluster
        finally:
            # A second Ctrl-C would leave the scratch directory behind.
            signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _operator(cluster: ControlPlane) -> Iterator[OperatorProcess]:
    say("The operator, as its ServiceAccount, with only the rights of manifests/overlays/out-of-cluster:")
    cluster.kubectl("apply", "--kustomize", str(ROOT / "manifests/overlays/out-of-cluster"))
    kubeconfig = cluster.service_account_kubeconfig("coxswain-system", "coxswain")
    operator = OperatorProcess(kubeconfig, cluster.directory / "logs" / "operator.log")
    started = time.monotonic()
    try:
        operator.start()
        say(f"  ready after {time.monotonic() - started:.1f} s, process {operator.pid}")
        yield operator
    finally:
        operator.stop()


def _propose() -> None:
    for trial in (WATCH, *TRIALS):
        say(f"  {trial.command}\n      {trial.shows}")


def _stay(cluster: ControlPlane, operator: OperatorProcess, entrance: Sequence[str]) -> None:
    say("\nTo try it, in a second terminal:")
    for command in entrance:
        say(f"  {command}")
    say(f'  export KUBECONFIG={cluster.kubeconfig} PATH="{cluster.directory / "bin"}:$PATH"')
    _propose()
    say("\nThe operator's log follows; Ctrl-C stops everything.")
    log = LogTail(operator.log)
    try:
        while True:
            _show(log)
            _check(cluster, operator)
            time.sleep(POLL_SECONDS)
    except KeyboardInterrupt:
        say("\nstopping")


def _try(cluster: ControlPlane, operator: OperatorProcess) -> None:
    log = LogTail(operator.log)
    for trial in TRIALS:
        say(f"\n$ {trial.command}\n# {trial.shows}")
        try:
            say(cluster.kubectl(*shlex.split(trial.command)[1:], "--namespace", NAMESPACE).rstrip())
        except KubectlError as error:
            say(error.stderr.rstrip())
        quiet_since = time.monotonic()
        while time.monotonic() - quiet_since < QUIET_SECONDS:
            if _show(log):
                quiet_since = time.monotonic()
            _check(cluster, operator)
            time.sleep(POLL_SECONDS)
    say("")
    draw(cluster.kubectl)


def _show(log: LogTail) -> bool:
    """Print the new lines of the operator's log; return whether there were any."""
    lines = log.lines()
    for line in lines:
        say(f"  operator: {line}")
    return bool(lines)


def _check(cluster: ControlPlane, operator: OperatorProcess) -> None:
    cluster.check()
    if not operator.running:
        raise RuntimeError("the operator exited:\n" + "\n".join(operator.logged().splitlines()[-15:]))


if __name__ == "__main__":
    sys.exit(main())
