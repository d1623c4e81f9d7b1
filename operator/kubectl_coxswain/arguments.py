"""The command line: commands, options and their help."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kubectl_coxswain.inputs import namespace, revision, seconds, webapp_name
from kubectl_coxswain.kubectl import Kubectl, Run
from kubectl_coxswain.problems import WRONG_USAGE

PROGRAM = "kubectl coxswain"
OUTPUTS = ("json", "yaml", "wide")

KUBECTL_OPTIONS = {
    "--kubeconfig": "path of the kubeconfig file",
    "--context": "name of the kubeconfig context",
    "--cluster": "name of the kubeconfig cluster",
    "--user": "name of the kubeconfig user",
    "--server": "address of the API server",
    "--token": "bearer token for the API server",
    "--as": "user to impersonate",
    "--as-group": "group to impersonate; may be repeated",
    "--request-timeout": "time to wait for one request, such as 10s",
}
"""Options for each run of kubectl, unchanged."""


@dataclass(frozen=True)
class Command:
    """A command: its help and its arguments."""

    summary: str
    examples: tuple[tuple[str, str], ...]
    """What each example does, and its arguments after `kubectl coxswain`."""
    add: Callable[[argparse.ArgumentParser], None]
    description: str = ""


def _name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", type=webapp_name, help="name of the WebApp")


def _names(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", type=webapp_name, help="name of the WebApp; all without it")
    parser.add_argument("-A", "--all-namespaces", action="store_true", help="the WebApps of all namespaces")


def _yes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask for confirmation")


def _status(parser: argparse.ArgumentParser) -> None:
    _names(parser)
    parser.add_argument("-w", "--watch", action="store_true", help="follow the rollout until it is finished or fails")
    parser.add_argument(
        "--timeout", type=seconds, default=3600.0, metavar="DURATION", help="end of --watch (default: 1h)"
    )
    parser.add_argument("--interval", type=seconds, default=1.0, metavar="SECONDS", help=argparse.SUPPRESS)


def _history(parser: argparse.ArgumentParser) -> None:
    _name(parser)
    parser.add_argument("--revision", type=revision, metavar="N", help="show the spec of this revision")


def _undo(parser: argparse.ArgumentParser) -> None:
    _name(parser)
    parser.add_argument("--to", type=revision, metavar="N", help="revision to return to (default: the one before)")
    parser.add_argument("--force", action="store_true", help="change a WebApp that Argo CD or Flux manages")
    parser.add_argument("--dry-run", action="store_true", help="show the plan and change nothing")
    _yes(parser)


def _plan(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-f", "--filename", action="append", required=True, metavar="FILE", help="manifests; - for the standard input"
    )
    parser.add_argument("--server-side", action="store_true", help="plan a `kubectl apply --server-side`")
    parser.add_argument("--field-manager", metavar="NAME", help="field manager of that apply")
    parser.add_argument("--force-conflicts", action="store_true", help="plan it with --force-conflicts")


def _adopt(parser: argparse.ArgumentParser) -> None:
    _name(parser)
    # Without a default argparse would call them required beside a missing NAME.
    parser.add_argument(
        "kinds", metavar="KIND", nargs="*", default=[], help="kinds to adopt, such as deployment (default: all)"
    )
    _yes(parser)


def _completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh"), help="the shell")


def _version(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--client", action="store_true", help="ask no cluster")


COMMANDS: dict[str, Command] = {
    "status": Command(
        "Show the state of WebApps, and of one with its pods.",
        (
            ("All WebApps of the namespace", "status"),
            ("Those of all namespaces, with more columns", "status -A -o wide"),
            ("One WebApp with its pods", "status shop"),
            ("Follow a rollout; the exit code is 0 if it succeeds", "status shop --watch"),
        ),
        _status,
    ),
    "tree": Command(
        "Show a WebApp with all objects that belong to it.",
        (("The tree of one WebApp", "tree shop"), ("The same for a program", "tree shop -o json")),
        _name,
    ),
    "why": Command(
        "Explain why a WebApp is not healthy: cause, evidence and next command.",
        (("One WebApp", "why shop"), ("Each one of a cluster that is not healthy", "why -A")),
        _names,
    ),
    "drift": Command(
        "Show fields of the children that differ from the desired state, with their managers.",
        (("One WebApp", "drift shop"), ("All WebApps of the namespace", "drift")),
        _names,
        "The differences at present are computed with the operator's own code. The corrections are those that the "
        "operator has recorded in status.drift.",
    ),
    "conflicts": Command(
        "Show fields of the spec that other field managers own.",
        (("One WebApp", "conflicts shop"), ("All WebApps of the cluster", "conflicts -A")),
        _names,
    ),
    "history": Command(
        "Show the kept revisions of a WebApp.",
        (("All revisions", "history shop"), ("The spec of one revision", "history shop --revision 3")),
        _history,
    ),
    "undo": Command(
        "Return the spec of a WebApp to an earlier revision.",
        (
            ("To the revision before", "undo shop"),
            ("To a certain revision, without a question", "undo shop --to 3 --yes"),
            ("Show the consequences only", "undo shop --dry-run"),
        ),
        _undo,
        "The plan comes first, then a question. The change is made with your own rights. It fails if somebody else "
        "changes the WebApp at the same time.",
    ),
    "plan": Command(
        "Show what an apply of WebApps would change, and whether pods restart.",
        (
            ("A file", "plan -f shop.yaml"),
            ("The output of kustomize", "plan -f -"),
            ("As `kubectl apply --server-side` would do it", "plan -f shop.yaml --server-side"),
        ),
        _plan,
        "Exit codes: 0 without differences, 1 with differences, 2 after an error.",
    ),
    "adopt": Command(
        "Let a WebApp adopt existing objects that have the names of its children.",
        (("All adoptable objects", "adopt shop"), ("Only some kinds", "adopt shop deployment service --yes")),
        _adopt,
        "Shows the changes of each object, asks, and then sets the annotation coxswain.dev/adopt on it.",
    ),
    "pause": Command("Let the operator write only the status of a WebApp.", (("Pause", "pause shop"),), _name),
    "resume": Command("End the pause of a WebApp.", (("Resume", "resume shop"),), _name),
    "restart": Command(
        "Restart the pods of a WebApp by a rolling update.",
        (("Restart, then follow it", "restart shop"),),
        _name,
        "It is `kubectl rollout restart` of the Deployment, which the operator does not revert.",
    ),
    "version": Command(
        "Show the versions of plugin, kubectl, API server and operator.",
        (("All versions", "version"), ("Without a cluster", "version --client")),
        _version,
    ),
    "completion": Command(
        "Print the completion script of a shell.",
        (("For this bash", "completion bash > ~/.local/share/bash-completion/completions/kubectl-coxswain"),),
        _completion,
        "kubectl itself completes plugins by a program `kubectl_complete-coxswain` in PATH: see docs/plugin.md.",
    ),
}


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the parsed arguments.

    Raises:
        SystemExit: status 2 and a message for wrong arguments; status 0 after --help.
    """
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        usage=f"{PROGRAM} COMMAND [NAME] [options]",
        description="Show and change WebApps of coxswain.dev.",
        epilog=f"`{PROGRAM} COMMAND --help` has examples.",
    )
    _add_common(parser, top=True)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        commands.add_parser(name, help=command.summary, add_help=False)
    found, after = parser.parse_known_args(list(arguments))
    parser_of(found.command).parse_intermixed_args(after, found)
    _check(parser, found)
    return found


def parser_of(name: str) -> argparse.ArgumentParser:
    """Return the parser of one command."""
    command = COMMANDS[name]
    examples = "\n".join(f"  # {what}\n  {PROGRAM} {how}\n" for what, how in command.examples)
    parser = argparse.ArgumentParser(
        prog=f"{PROGRAM} {name}",
        description=f"{command.summary}\n\n{command.description}".strip(),
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add(parser)
    _add_common(parser, top=False)
    return parser


def kubectl_of(run: Run, found: argparse.Namespace) -> Kubectl:
    """Return the requests with the user's options for kubectl."""
    options: list[str] = []
    for option in KUBECTL_OPTIONS:
        value = getattr(found, _attribute(option), None)
        values = value if isinstance(value, list) else [] if value is None else [value]
        options += [f"{option}={each}" for each in values]
    return Kubectl(run, options, getattr(found, "namespace", None) or None)


def _add_common(parser: argparse.ArgumentParser, *, top: bool) -> None:
    """Add the options of every command. They may stand before the command and after it."""
    default = None if top else argparse.SUPPRESS
    parser.add_argument(
        "-n", "--namespace", default=default, type=namespace, help="namespace (default: that of the context)"
    )
    parser.add_argument("-o", "--output", choices=OUTPUTS, default=default, help="output for programs, or wider text")
    parser.add_argument(
        "--no-color",
        action="store_true",
        default=False if top else argparse.SUPPRESS,
        help="no colour; NO_COLOR does the same",
    )
    group = parser.add_argument_group("options for kubectl")
    for option, text in KUBECTL_OPTIONS.items():
        action = "append" if option == "--as-group" else "store"
        group.add_argument(option, dest=_attribute(option), default=default, action=action, metavar="VALUE", help=text)


def _attribute(option: str) -> str:
    return "kubectl_" + option.removeprefix("--").replace("-", "_")


def _check(parser: argparse.ArgumentParser, found: argparse.Namespace) -> None:
    if found.command == "status" and found.watch and not found.name:
        parser.exit(WRONG_USAGE, f"{PROGRAM}: error: --watch needs the NAME of a WebApp\n")
    if getattr(found, "all_namespaces", False) and found.name:
        parser.exit(WRONG_USAGE, f"{PROGRAM}: error: give NAME or --all-namespaces, not both\n")
    if found.command == "status" and found.watch and found.output == "yaml":
        parser.exit(WRONG_USAGE, f"{PROGRAM}: error: --watch has no output in yaml; use json, a line for each change\n")
