"""The command line of an operator built on the kernel."""

import argparse
import importlib
import logging
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn

from coxswain.logs import configure
from coxswain.settings import MAXIMUM_SLOTS, NO_METRICS, VARIABLES, Settings

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def settings(
    arguments: Sequence[str], environment: Mapping[str, str], *, program: str = "coxswain", description: str = ""
) -> Settings:
    """Return the settings from the command line, with the environment as fallback.

    Raises:
        SystemExit: status 2 and a message for invalid arguments; status 0 after --help and --version.
    """
    given = {name: environment[variable] for name, variable in VARIABLES.items() if environment.get(variable)}
    parser = _parser(program, description)
    parser.set_defaults(**{name: text for name, text in given.items() if name != "namespaces"})
    parsed = parser.parse_args(arguments)
    named = ",".join(parsed.namespace or [given.get("namespaces", "")])
    namespaces = dict.fromkeys(name.strip() for name in named.split(",") if name.strip())
    for name in namespaces:
        if not _NAMESPACE.fullmatch(name):
            parser.error(f"--namespace (or {VARIABLES['namespaces']}): {name!r} is not a valid namespace name")
    if not namespaces and (parsed.namespace is not None or "namespaces" in given):
        parser.error(
            f"--namespace (or {VARIABLES['namespaces']}): {named!r} has no name; leave it out to serve all namespaces"
        )
    if parsed.slots > 1 and not parsed.leader_elect:
        parser.error(f"--slots (or {VARIABLES['slots']}): {parsed.slots} slots need --leader-elect")
    made = Settings(
        namespaces=tuple(namespaces),
        kubeconfig=parsed.kubeconfig,
        context=parsed.context,
        listen=parsed.listen,
        metrics_listen=parsed.metrics_listen,
        metrics_secure=parsed.metrics_secure,
        metrics_cert_dir=parsed.metrics_cert_dir,
        log_format=parsed.log_format,
        log_level=parsed.log_level,
        watch_metadata=parsed.watch_metadata,
        leader_elect=parsed.leader_elect,
        leader_elect_namespace=parsed.leader_elect_namespace,
        slots=parsed.slots,
        resync_interval=parsed.resync_interval,
    )
    if made.listen == made.metrics_listen and not made.listen.endswith(":0"):
        parser.error(
            f"--metrics-listen (or {VARIABLES['metrics_listen']}): {made.listen} is the address of the probes "
            "(--listen); the metrics need another port"
        )
    if made.metrics_cert_dir and made.metrics_listen == NO_METRICS:
        parser.error(
            f"--metrics-cert-dir (or {VARIABLES['metrics_cert_dir']}): nothing uses the certificate, because "
            f"--metrics-listen={NO_METRICS} turns the metrics off"
        )
    if made.metrics_cert_dir and not made.secures_metrics:
        parser.error(
            f"--metrics-cert-dir (or {VARIABLES['metrics_cert_dir']}): a certificate needs --metrics-secure=true"
        )
    return made


def _parser(program: str, description: str) -> argparse.ArgumentParser:
    usual = Settings()
    parser = argparse.ArgumentParser(
        prog=program,
        description=description,
        epilog=f"Environment variables, used if an option is not given: {', '.join(VARIABLES.values())}.",
    )
    parser.add_argument("--version", action="version", version=f"coxswain {version('coxswain')}")
    _add_cluster_options(parser, usual)
    _add_process_options(parser, usual)
    _add_metrics_options(parser, usual)
    _add_election_options(parser, usual)
    return parser


def _add_cluster_options(parser: argparse.ArgumentParser, usual: Settings) -> None:
    """Add the options about the API server, and about the objects to list and watch."""
    parser.add_argument(
        "--namespace",
        action="append",
        metavar="NAME[,NAME...]",
        help="a namespace to serve; may be repeated; default: all namespaces",
    )
    parser.add_argument("--kubeconfig", type=Path, help="path of a kubeconfig; default: the ServiceAccount of the pod")
    parser.add_argument("--context", help="context of the kubeconfig; default: its current one")
    parser.add_argument(
        "--watch-metadata",
        type=_names,
        default=usual.watch_metadata,
        metavar="KIND[,KIND...]",
        help="kinds of referenced objects to watch by their metadata, such as secrets,configmaps; default: none",
    )
    parser.add_argument(
        "--resync-interval",
        type=_seconds,
        default=usual.resync_interval,
        metavar="SECONDS",
        help="interval between two resyncs, each with a relist of every kind; default: %(default)s",
    )


def _add_process_options(parser: argparse.ArgumentParser, usual: Settings) -> None:
    """Add the options about the probes and the log of this process."""
    parser.add_argument(
        "--listen",
        type=_address,
        default=usual.listen,
        help="HOST:PORT of /healthz and /readyz; default: %(default)s",
    )
    parser.add_argument(
        "--log-format",
        type=_one_of("text", "json"),
        default=usual.log_format,
        help="text or json; default: %(default)s",
    )
    parser.add_argument(
        "--log-level",
        type=_one_of("debug", "info", "warning", "error"),
        default=usual.log_level,
        help="debug, info, warning or error; default: %(default)s",
    )


def _add_metrics_options(parser: argparse.ArgumentParser, usual: Settings) -> None:
    """Add the options about the port of the metrics."""
    parser.add_argument(
        "--metrics-listen",
        type=_address_or_none,
        default=usual.metrics_listen,
        help=f"HOST:PORT of /metrics, or {NO_METRICS} to serve none; default: %(default)s",
    )
    parser.add_argument(
        "--metrics-secure",
        type=_boolean,
        nargs="?",
        const=True,
        metavar="true|false",
        help="whether /metrics has TLS and asks the API server who may get it; default: true, but false on loopback",
    )
    parser.add_argument(
        "--metrics-cert-dir",
        type=Path,
        metavar="DIRECTORY",
        help="directory with tls.crt and tls.key for /metrics; default: a self-signed certificate",
    )


def _add_election_options(parser: argparse.ArgumentParser, usual: Settings) -> None:
    """Add the options about the other replicas."""
    parser.add_argument(
        "--leader-elect",
        type=_boolean,
        nargs="?",
        const=True,
        default=usual.leader_elect,
        metavar="true|false",
        help="whether only the holder of a Lease writes; false for a single local process; default: true",
    )
    parser.add_argument(
        "--leader-elect-namespace",
        type=_namespace,
        metavar="NAME",
        help="namespace of the Lease; default: that of the pod or of the kubeconfig's context",
    )
    parser.add_argument(
        "--slots",
        type=_slots,
        default=usual.slots,
        metavar="NUMBER",
        help=f"number of groups of namespaces that replicas share, from 1 to {MAXIMUM_SLOTS}, equal in all replicas; "
        "default: %(default)s",
    )


def _address(text: str) -> str:
    host, colon, port = text.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no HOST:PORT, such as {host or '0.0.0.0'}:8080")  # noqa: S104 - an example in a message
    try:
        host.strip("[]").encode("idna")
    except UnicodeError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {host!r} is no host name: {error}") from error
    return text


def _address_or_none(text: str) -> str:
    return text if text == NO_METRICS else _address(text)


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _namespace(text: str) -> str:
    if not _NAMESPACE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a valid namespace name")
    return text


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")
    return text.lower() == "true"


def _slots(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= MAXIMUM_SLOTS:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to {MAXIMUM_SLOTS}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not 1 <= seconds <= 86400:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds from 1 to 86400")
    return seconds


def _one_of(*choices: str) -> Callable[[str], str]:
    """Return an argparse type for `choices`, because argparse does not validate defaults against its own `choices`."""

    def chosen(text: str) -> str:
        if text.lower() not in choices:
            raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(choices)}")
        return text.lower()

    return chosen


def run(workload: str, *, program: str, description: str) -> None:
    """Run an operator; end with status 1 and one line if it cannot start.

    Args:
        workload: the workload, as module:name. It is imported after the signal handlers are set.
        program: the name of the program, for --help and errors.
        description: one sentence, for --help.
    """
    # PID 1 in a container ignores signals without a handler. The imports below take a second, or five with a tenth of
    # a CPU.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end_at_once)
    made = settings(sys.argv[1:], os.environ, program=program, description=description)
    configure(made.log_level, made.log_format)
    from coxswain.main import start  # noqa: PLC0415 - see above

    try:
        module, _, name = workload.partition(":")
        status = start(getattr(importlib.import_module(module), name), made, program)
    except Exception:  # noqa: BLE001 - internal error: print the traceback, then exit as usual
        sys.excepthook(*sys.exc_info())
        status = 1
    _end(status)


def _end(status: int) -> NoReturn:
    """Exit the process without waiting for threads, such as pending DNS lookups, and without stopping them halfway.

    Python aborts at its exit if a daemon thread holds the lock of standard error.
    """
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    if threading.active_count() > 1:
        os._exit(status)
    sys.exit(status)


def _end_at_once(*_: object) -> None:
    # Nothing needs cleanup yet. An exception could be lost, for example in a callback of the garbage collector.
    os._exit(0)
