"""Completion for bash and zsh: of the program, and of `kubectl coxswain` by kubectl's own convention."""

import sys
from collections.abc import Callable, Iterable, Sequence

from kubectl_coxswain.arguments import COMMANDS, KUBECTL_OPTIONS, OUTPUTS, parser_of
from kubectl_coxswain.kubectl import Kubectl, Run
from kubectl_coxswain.names import WEBAPP
from kubectl_coxswain.owned import CHILDREN
from kubectl_coxswain.problems import Problem

_WITHOUT_FILES = ":4"
"""Ends the completions of kubectl's plugins: the shell adds no file names (a directive of cobra)."""
_WITH_FILES = ":0"
_PASSED = ("-n", "--namespace", *KUBECTL_OPTIONS)
_VALUED = (
    *(*_PASSED, "-o", "--output", "-f", "--filename"),
    *("--to", "--revision", "--timeout", "--interval", "--field-manager"),
)
"""Options with a value."""

BASH = """\
# bash completion for kubectl-coxswain. kubectl itself asks kubectl_complete-coxswain.
_kubectl_coxswain() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        case "$line" in
            :0) compopt -o default ;;
            :*) ;;
            *) COMPREPLY+=("$line") ;;
        esac
    done < <(kubectl-coxswain __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _kubectl_coxswain kubectl-coxswain
"""

ZSH = """\
#compdef kubectl-coxswain
# zsh completion for kubectl-coxswain. kubectl itself asks kubectl_complete-coxswain.
_kubectl_coxswain() {
    local -a found
    found=(${(f)"$(kubectl-coxswain __complete "${(@)words[2,CURRENT]}" 2>/dev/null)"})
    [[ ${found[-1]} == :0 ]] && _files
    compadd -- ${found:#:*}
}
compdef _kubectl_coxswain kubectl-coxswain
"""


def complete(words: Sequence[str], run: Run) -> int:
    """Print the completions of the last word, and a line that says whether files count. Errors complete nothing."""
    found, files = candidates(words, run)
    last = words[-1] if words else ""
    for each in found:
        if each.startswith(last):
            sys.stdout.write(f"{each}\n")
    sys.stdout.write((_WITH_FILES if files else _WITHOUT_FILES) + "\n")
    return 0


def candidates(words: Sequence[str], run: Run) -> tuple[list[str], bool]:
    """Return the possible last words, and whether files are possible."""
    before, last = list(words[:-1]), words[-1] if words else ""
    option = before[-1] if before else ""
    command = next((word for word in _positional(before)), "")
    if option in ("-f", "--filename", "--kubeconfig"):
        return [], True
    values: dict[str, Callable[[], list[str]]] = {
        **dict.fromkeys(("-o", "--output"), lambda: list(OUTPUTS)),
        **dict.fromkeys(("-n", "--namespace"), lambda: _names(Kubectl(run, _options(before[:-1])), "namespaces")),
        "--context": lambda: _contexts(run),
    }
    if option in values:
        return values[option](), False
    if option in _VALUED:
        return [], False
    if command not in COMMANDS:
        return list(COMMANDS), False
    given = len(_positional(before)) - 1
    return _flags(command) if last.startswith("-") else _arguments(command, given, before, run), False


def _arguments(command: str, given: int, before: Sequence[str], run: Run) -> list[str]:
    if command == "completion":
        return ["bash", "zsh"]
    if command == "adopt" and given >= 1:
        return [kind.kind.lower() for kind in CHILDREN]
    if command in ("plan", "version") or given >= 1:
        return []
    return _names(Kubectl(run, _options(before)), WEBAPP.plural)


def _names(kubectl: Kubectl, resource: str) -> list[str]:
    """Return the names of objects; none if the cluster does not answer."""
    wanted = f"{resource}.{WEBAPP.group}" if resource == WEBAPP.plural else resource
    try:
        out = kubectl.text("get", wanted, "--output=name", "--request-timeout=3s")
    except Problem:
        return []
    return [line.rpartition("/")[2] for line in out.splitlines()]


def _contexts(run: Run) -> list[str]:
    try:
        return Kubectl(run).text("config", "get-contexts", "--output=name").split()
    except Problem:
        return []


def _flags(command: str) -> list[str]:
    parser = parser_of(command)
    return sorted(flag for action in parser._actions for flag in action.option_strings if flag.startswith("--"))  # noqa: SLF001 - argparse has no public list


def _positional(words: Iterable[str]) -> list[str]:
    """Return the words that are neither options nor their values."""
    found, value = [], False
    for word in words:
        if value:
            value = False
        elif word.startswith("-"):
            value = word in _VALUED
        else:
            found.append(word)
    return found


def _options(words: Sequence[str]) -> list[str]:
    """Return the options for kubectl, with their values."""
    found = []
    for number, word in enumerate(words):
        if word.partition("=")[0] in _PASSED:
            found.append(word)
            if "=" not in word:
                found += words[number + 1 : number + 2]
    return found
