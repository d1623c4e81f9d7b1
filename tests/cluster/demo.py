"""The demo: a throwaway Kubernetes, the operator with the rights of manifests/, and the WebApps of manifests/samples/.

`make demo` runs it; `python -m cluster.demo --help` has its options.
"""

import argparse
import shlex
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from cluster.control_plane import ControlPlane
from cluster.kubectl import KubectlError
from cluster.operator_process import LogTail, OperatorProcess
from cluster.samples import NAMESPACE, POLL_SECONDS, ROOT, apply_samples, draw, say

QUIET_SECONDS = 2.0
"""After a command of --try: so long without a line of the operator's log, and it has nothing more to say."""


@dataclass(frozen=True)
class Trial:
    """A command to try, and what it shows."""

    command: str
    shows: str


OTHER_IMAGE = "registry.k8s.io/e2e-test-images/agnhost:2.40"
TRIALS = (
    Trial("kubectl get webapps -o wide", "what the status says, in one line each"),
    Trial("kubectl scale deployment hello --replicas=5", "put back to 1; an Event says who did it and what to do"),
    Trial("kubectl scale webapp hello --replicas=3", "this is what to do: the Deployment follows"),
    Trial(f"kubectl set image deployment/hello app={OTHER_IMAGE}", "put back: the image is the WebApp's to say"),
    Trial("kubectl delete service hello", "made anew"),
    Trial("kubectl label deployment hello mine=yes", "stays: a field that the WebApp says nothing of is yours"),
    Trial("kubectl rollout restart deployment hello", "new pods; the annotation that kubectl sets is left alone"),
    Trial(
        """kubectl patch webapp shop --type=merge -p '{"spec":{"config":{"LOG_LEVEL":"debug"}}}'""",
        "a new ConfigMap and a rollout; the old ConfigMap goes when no pod needs it any more",
    ),
    Trial(
        """kubectl patch webapp hello --type=merge -p '{"spec":{"runAsUser":0}}'""",
        "refused by the API server, with the reason, before the operator sees it",
    ),
    Trial("kubectl events --for webapp/hello", "what the operator told of all this"),
    Trial("kubectl describe webapp hello", "conditions, children and Events in one page"),
    Trial("kubectl delete webapp shop", "its children go after it, by the garbage collector: no finalizer holds it up"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; returns the exit code. SIGTERM ends it as Ctrl-C does."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with _kubernetes() as cluster, _operator(cluster) as operator:
            apply_samples(cluster.kubectl, lambda: _check(cluster, operator))
            if options.tries:
                _try(cluster, operator)
            elif options.once or not sys.stdin.isatty():
                say("\nIn a terminal the demo stays, so that you can try this in a second one:")
                _propose()
            else:
                _stay(cluster, operator)
    except (RuntimeError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted, and stopped", file=sys.stderr)
        return 130
    say("stopped; nothing is left of it")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m cluster.demo",
        description="Bring up a throwaway Kubernetes with the operator and the WebApps of manifests/samples/, draw "
        "what came of them, and stay until Ctrl-C with the operator's log. Where the standard input is no terminal, it "
        "ends after the drawing.",
    )
    parser.add_argument("--once", action="store_true", help="end after the drawing")
    parser.add_argument(
        "--try", dest="tries", action="store_true", help="run what would be proposed to try, show what comes of it, end"
    )
    return parser


@contextmanager
def _kubernetes() -> Iterator[ControlPlane]:
    say("Kubernetes: etcd, API server, controllers, scheduler. The first time, getting the programs takes minutes.")
    crds = sorted((ROOT / "crds").glob("*.yaml"))
    with ControlPlane(manifests=crds, progress=lambda line: say(f"  {line}")) as cluster:
        say("  Pods are KWOK's: the API objects, the controllers and the operator are real, but no container runs.")
        programs = cluster.directory / "bin"
        programs.mkdir()
        (programs / "kubectl").symlink_to(cluster.programs["kubectl"])
        try:
            yield cluster
        finally:
            # A second Ctrl-C would leave the scratch folder behind.
            signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _operator(cluster: ControlPlane) -> Iterator[OperatorProcess]:
    say("The operator, as its ServiceAccount and with no rights but those of manifests/overlays/out-of-cluster:")
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
    for trial in TRIALS:
        say(f"  {trial.command}\n      {trial.shows}")


def _stay(cluster: ControlPlane, operator: OperatorProcess) -> None:
    say("\nTo try it, in a second terminal:")
    say(f'  export KUBECONFIG={cluster.kubeconfig} PATH="{cluster.directory / "bin"}:$PATH"')
    _propose()
    say("\nWhat the operator logs shows here; Ctrl-C ends it all.")
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
    """Print the new lines of the operator's log; tell whether there were any."""
    lines = log.lines()
    for line in lines:
        say(f"  operator: {line}")
    return bool(lines)


def _check(cluster: ControlPlane, operator: OperatorProcess) -> None:
    cluster.check()
    if not operator.running:
        raise RuntimeError("the operator ended by itself:\n" + "\n".join(operator.logged().splitlines()[-15:]))


if __name__ == "__main__":
    sys.exit(main())
