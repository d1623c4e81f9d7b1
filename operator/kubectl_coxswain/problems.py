"""Errors for users: the problem and the next step."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from coxswain.kernel.objects.quote import abridged
from kubectl_coxswain.names import GROUP

FAILED = 1
"""Exit code after an error."""
WRONG_USAGE = 2
"""Exit code after wrong arguments, and of `plan` after any error."""

_MESSAGE = 2000
"""Maximum characters of a message of kubectl."""
_INSTALL = "install the API: kubectl apply --server-side -k crds (see docs/install.md), or choose another --context"
_SERVER = re.compile(
    r'Error from server(?: \((?P<reason>\w+)\))?: (?:error when \w+ "STDIN": )?(?P<message>.*)', re.DOTALL
)
_DENIED = re.compile(
    r'cannot (?P<verb>[\w-]+) (?:resource|path) "(?P<resource>[^"]+)"'
    r'(?: in API group "(?P<group>[^"]*)")?'
    r'(?: (?:in the namespace "(?P<namespace>[^"]*)"|(?P<everywhere>at the cluster scope)))?'
)
_NO_MATCH = re.compile(r'no matches for kind "([^"]+)" in version "([^"]+)"')
_TRANSIENT = ("", "ServiceUnavailable", "Timeout", "ServerTimeout", "TooManyRequests", "InternalError", "Expired")
"""Reasons of errors of any request at present: the next WebApp would meet the same."""
_BY_WEBHOOK = ("denied the request", "failed calling webhook")
_UNREACHABLE = (
    *("was refused", "unable to connect", "i/o timeout", "no such host", "deadline exceeded", "no route to"),
    *("unexpected eof", "connection reset", "connection lost", "client.timeout exceeded"),
)
_UNCONFIGURED = ("does not exist", "no configuration has been provided", "no such file", "current-context")


@dataclass
class Problem(Exception):
    """An error with the next step of the user."""

    message: str
    next_step: str = ""
    code: int = FAILED

    def __str__(self) -> str:
        return self.message


class NotFound(Problem):
    """The object does not exist."""


class NotServed(Problem):
    """The API server does not serve the resource."""


class Forbidden(Problem):
    """The user lacks a right."""


class Denied(Problem):
    """Admission denies the request: a policy, a webhook or a quota."""


class NotLoggedIn(Problem):
    """The cluster does not accept the user's credentials, or there are none."""


class Unavailable(Problem):
    """The API server does not answer, or reports an error of its own: a later request may succeed."""


class Conflict(Problem):
    """The object has changed since it was read, or another field manager owns a field."""


class Invalid(Problem):
    """The API server rejects the object."""


def problem_of(stderr: str) -> Problem:
    """Return the problem in the standard error of kubectl."""
    text = stderr.strip()
    found = _SERVER.search(text)
    if found is None:
        return _of_client(text)
    message = abridged(found["message"], _MESSAGE)
    if any(words in message for words in _BY_WEBHOOK):
        return Denied(message, "change the manifest, or ask the owner of the webhook")
    known: dict[str, Callable[[], Problem]] = {
        "NotFound": lambda: _absent(message),
        "Forbidden": lambda: _forbidden(message),
        "Conflict": lambda: Conflict(message, "the object has changed meanwhile: run the command again"),
        "Unauthorized": _not_logged_in,
        "Invalid": lambda: _invalid(message),
        "BadRequest": lambda: _invalid(message),
    }
    reason = found["reason"] or ""
    if reason in _TRANSIENT:
        return Unavailable(message, "run the command again")
    return known.get(reason, lambda: Problem(message, "correct the named problem and run the command again"))()


def _of_client(text: str) -> Problem:
    """Return the problem of a message of kubectl itself. The first matching words decide."""
    lowered, last = text.lower(), abridged(_last(text).removeprefix("error: "), _MESSAGE)
    unreachable = Unavailable(
        f"the cluster cannot be reached: {last}", "check: kubectl cluster-info, or give --context"
    )
    contended = Conflict(
        abridged(text.removeprefix("error: "), _MESSAGE),
        "give --force-conflicts, or change these fields by their manager",
    )
    known: tuple[tuple[tuple[str, ...], Problem], ...] = (
        (("must be logged in", "getting credentials"), _not_logged_in()),
        ((" is invalid: ",), _invalid(last)),
        (("apply failed with",), contended),
        (('no matches for kind "',), _unserved(text)),
        (("doesn't have a resource type",), NotServed(last, _INSTALL)),
        (('does not match the namespace "',), Problem(last, "leave -n out: the file names the namespace")),
        (_UNREACHABLE, unreachable),
        (('the path "',), Problem(last, "check the name of the file")),
        (_UNCONFIGURED, Problem(last, "list the contexts: kubectl config get-contexts")),
    )
    failed = Problem(f"kubectl failed: {last or 'without a message'}", "run it again with kubectl alone")
    return next((problem for words, problem in known if any(word in lowered for word in words)), failed)


def _unserved(text: str) -> NotServed:
    """Return the problem of unserved kinds: each has a line of its own."""
    found = list(dict.fromkeys(_NO_MATCH.findall(text)))
    kinds = ", ".join(f'kind "{kind}" in version "{version}"' for kind, version in found)
    advice = f"give a file with only the WebApps, or install the CRD of {', '.join(f'{k} ({v})' for k, v in found)}"
    ours = any(version.partition("/")[0] == GROUP for _, version in found)
    return NotServed(abridged(f"the cluster has no matches for {kinds}", _MESSAGE), _INSTALL if ours else advice)


def _not_logged_in() -> NotLoggedIn:
    return NotLoggedIn("the cluster does not accept your credentials", "log in again, or choose another --context")


def _invalid(message: str) -> Invalid:
    return Invalid(message, "correct the named field and run the command again")


def _absent(message: str) -> Problem:
    """Return the problem of a 404: of a resource or of an object."""
    if "could not find the requested resource" in message:
        return NotServed("the cluster does not serve the requested resource", _INSTALL)
    return NotFound(message)


def _forbidden(message: str) -> Problem:
    found = _DENIED.search(message)
    if found is None:
        return Denied(message, "change the manifest or the policy")
    resource = found["resource"] + (f".{found['group']}" if found["group"] else "")
    place = f" -n {found['namespace']}" if found["namespace"] else " -A" if found["everywhere"] else ""
    everywhere = "" if resource.startswith("/") else " in the whole cluster"
    where = f" in namespace {found['namespace']}" if found["namespace"] else everywhere
    return Forbidden(
        f"you are not allowed to {found['verb']} {resource}{where}",
        f"ask an administrator for the verb {found['verb']} on {resource}; to check: "
        f"kubectl auth can-i {found['verb']} {resource}{place}",
    )


def _last(text: str) -> str:
    """Return the last line: kubectl logs its attempts before it."""
    return text.splitlines()[-1] if text else ""
