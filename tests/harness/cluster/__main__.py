"""The command line of the throwaway Kubernetes; `--help` describes it."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from cluster import supervisor
from cluster.catalog import GATEWAY_PROGRAMS, PROGRAMS, Program
from cluster.control_plane import ControlPlane
from cluster.gateway_api import gateway_crds
from cluster.kubectl import KubectlError
from cluster.processes import ProgramExitedError
from cluster.programs import HELP, ProgramMissingError, find_programs

DIRECTORY = Path(".cluster")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except (ProgramMissingError, ProgramExitedError, KubectlError, supervisor.SupervisorError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def parser() -> argparse.ArgumentParser:
    """Return the parser of the commands and their options."""
    top = argparse.ArgumentParser(
        prog="python -m cluster",
        description="A throwaway Kubernetes: etcd, a real control plane, and KWOK's fake nodes.",
        epilog=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    raw = argparse.RawDescriptionHelpFormatter

    programs = commands.add_parser(
        "programs", help="find, download or build the programs", epilog=HELP, formatter_class=raw
    )
    programs.add_argument(
        "--with",
        dest="extras",
        choices=["gateway"],
        action="append",
        default=[],
        help="further programs: gateway for Contour and Envoy, which `make gateway-test` needs",
    )
    programs.set_defaults(run=_programs)

    up = commands.add_parser("up", help="start a cluster that stays up", epilog=HELP, formatter_class=raw)
    _add_cluster_options(up)
    up.set_defaults(run=_up)

    down = commands.add_parser("down", help="stop it and remove its data")
    _add_directory(down)
    down.set_defaults(run=_down)

    serve = commands.add_parser("serve", help="run a cluster until SIGTERM; `up` starts this in the background")
    _add_cluster_options(serve)
    serve.set_defaults(run=_serve)
    return top


def feature_gate(text: str) -> tuple[str, bool]:
    """Parse `Name=true` or `Name=false`. Raises ArgumentTypeError for anything else."""
    name, separator, value = text.partition("=")
    if not name or not separator or value not in {"true", "false"}:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form Name=true or Name=false")
    return name, value == "true"


def cluster_arguments(options: argparse.Namespace) -> list[str]:
    """Turn the parsed options of a cluster back into arguments for `serve`."""
    gates = [f"--feature-gate={name}={str(on).lower()}" for name, on in options.feature_gate]
    flags = [f"--api-server-flag={flag}" for flag in options.api_server_flag]
    managers = [f"--controller-manager-flag={flag}" for flag in options.controller_manager_flag]
    manifests = [f"--manifest={file.absolute()}" for file in options.manifest]
    fsync = ["--fsync"] if options.fsync else []
    return [f"--nodes={options.nodes}", *fsync, *gates, *flags, *managers, *manifests]


def _add_directory(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--directory",
        type=Path,
        default=DIRECTORY,
        metavar="D",
        help="directory of its data, logs and kubeconfigs [%(default)s]",
    )


def _add_cluster_options(command: argparse.ArgumentParser) -> None:
    _add_directory(command)
    command.add_argument("--nodes", type=int, default=3, metavar="N", help="fake nodes [%(default)s]")
    command.add_argument("--fsync", action="store_true", help="let etcd call fsync")
    command.add_argument(
        "--feature-gate",
        type=feature_gate,
        action="append",
        default=[],
        metavar="NAME=true|false",
        help="feature gate of the API server",
    )
    command.add_argument(
        "--api-server-flag",
        action="append",
        default=[],
        metavar="FLAG",
        help="flag of kube-apiserver, written --api-server-flag=--v=2",
    )
    command.add_argument(
        "--controller-manager-flag",
        action="append",
        default=[],
        metavar="FLAG",
        help="flag of kube-controller-manager, in the same form",
    )
    command.add_argument(
        "--manifest", type=Path, action="append", default=[], metavar="FILE", help="applied first, for example CRDs"
    )


def _programs(options: argparse.Namespace) -> int:
    further: tuple[Program, ...] = ()
    if "gateway" in options.extras:
        further = tuple(GATEWAY_PROGRAMS.values())
        gateway_crds()
    for name, found in find_programs(_say, programs=(*PROGRAMS.values(), *further)).items():
        print(f"{name:24} {found.version!s:9} {found.source:10} {found.path}")
    return 0


def _up(options: argparse.Namespace) -> int:
    print(supervisor.up(options.directory, cluster_arguments(options), _say))
    return 0


def _down(options: argparse.Namespace) -> int:
    print(supervisor.down(options.directory))
    return 0


def _serve(options: argparse.Namespace) -> int:
    control_plane = ControlPlane(
        fsync=options.fsync,
        feature_gates=dict(options.feature_gate),
        api_server_flags=options.api_server_flag,
        controller_manager_flags=options.controller_manager_flag,
        nodes=options.nodes,
        manifests=options.manifest,
        directory=supervisor.Folder(options.directory.absolute()).data,
        programs={name: found.path for name, found in find_programs().items()},  # `up` has reported the builds already
        progress=_say,
    )
    return supervisor.serve(options.directory, control_plane, _say)


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
