"""The command line of the kind cluster; `--help` describes it."""

import argparse
import os
import sys
from collections.abc import Sequence

from cluster.catalog import GATEWAY_PROGRAMS, METRICS_SERVER_PROGRAM
from cluster.gateway_api import gateway_crds
from cluster.kind.engine import DockerError, EngineMissingError, find_engine
from cluster.kind.host import HostError, get_engine_ready
from cluster.kind.kind_cluster import (
    DEFAULT_KUBECONFIG,
    DEFAULT_NAME,
    IMAGE_VARIABLE,
    WORKERS,
    KindCluster,
    choose_node_image,
)
from cluster.kind.operator_image import base_argument, build_operator_image
from cluster.kubectl import KubectlError
from cluster.programs import ProgramMissingError, cache_programs

CANNOT_BE_HAD = 3
"""Exit code of `prepare` if this machine cannot run a kind cluster, as opposed to a failure."""

HELP = f"""\
kind comes from TEST_ASSET_KIND or PATH, else it is built from its Go module. The node image is, in this order:
1. the image named by {IMAGE_VARIABLE},
2. kind's default kindest/node, if an image registry answers within 3 seconds,
3. built here, from Debian's packages (debootstrap, as root) and Go modules: about 12 minutes the first time."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except HostError as error:
        print(f"error: {error}", file=sys.stderr)
        return CANNOT_BE_HAD
    except (ProgramMissingError, EngineMissingError, DockerError, KubectlError, OSError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    top = argparse.ArgumentParser(
        prog="python -m cluster.kind", description="A kind cluster.", epilog=HELP, formatter_class=raw
    )
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    up = commands.add_parser("up", help="create the cluster and leave it running", epilog=HELP, formatter_class=raw)
    up.add_argument("--workers", type=int, default=WORKERS, metavar="N", help="worker nodes [%(default)s]")
    up.set_defaults(run=_up)
    down = commands.add_parser("down", help="delete it")
    down.set_defaults(run=_down)
    engine = commands.add_parser("engine", help="install and start a Docker engine if none answers: on Debian, as root")
    engine.set_defaults(run=_engine)
    prepare = commands.add_parser(
        "prepare",
        help="engine, node image, and the programs that `make kind-test` builds or downloads; "
        "exit code 3 if this machine cannot have them",
    )
    prepare.set_defaults(run=_prepare)
    image = commands.add_parser("image", help="build the operator's image")
    image.set_defaults(run=_image)
    return top


def _cluster(workers: int = WORKERS) -> KindCluster:
    return KindCluster(find_engine(), DEFAULT_NAME, DEFAULT_KUBECONFIG.absolute(), workers=workers, progress=_say)


def _up(options: argparse.Namespace) -> int:
    cluster = _cluster(options.workers)
    cluster.ensure()
    _say(f"  export KUBECONFIG={cluster.kubeconfig}\n  {cluster.kubectl_program} get nodes\nto delete:  make kind-down")
    return 0


def _down(_options: argparse.Namespace) -> int:
    cluster = _cluster()
    was_up = cluster.exists
    cluster.delete()
    _say("deleted" if was_up else "no cluster is up")
    return 0


def _engine(_options: argparse.Namespace) -> int:
    engine = get_engine_ready(_say)
    _say(f"Docker Engine answers: version {engine.docker('version', '--format', '{{.Server.Version}}').strip()}")
    return 0


def _prepare(_options: argparse.Namespace) -> int:
    engine = get_engine_ready(_say)
    _say(choose_node_image(engine, os.environ, _say) or "kind chooses the node image")
    base_argument(engine, os.environ, _say)
    cache_programs([METRICS_SERVER_PROGRAM, *GATEWAY_PROGRAMS.values()], _say)
    gateway_crds()
    return 0


def _image(_options: argparse.Namespace) -> int:
    _say(build_operator_image(find_engine(), os.environ, _say))
    return 0


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
