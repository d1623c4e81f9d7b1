"""Arguments of the command line: names, namespaces, durations and numbers of revisions. Pure."""

import re
from argparse import ArgumentTypeError

from kubectl_coxswain.names import WEBAPP

_KINDS = tuple(f"{each}{suffix}" for each in ("webapp", WEBAPP.plural) for suffix in ("", f".{WEBAPP.group}"))
_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9]([a-z0-9.-]*[a-z0-9])?", re.ASCII)
"""A name of the API server: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/."""
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)", re.ASCII)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def webapp_name(text: str) -> str:
    """Return the name of a WebApp, given as `shop`, or as kubectl prints it: `webapp.coxswain.dev/shop`.

    Raises:
        ArgumentTypeError: no object may have this name.
    """
    kind, slash, name = text.rpartition("/")
    if (slash and kind.lower() not in _KINDS) or not is_name(name):
        raise ArgumentTypeError(f"{text!r} is not the name of a WebApp; to list them: kubectl coxswain status -A")
    return name


def is_name(text: object) -> bool:
    """Tell whether an object may have this name. Others would change the URL path of a request."""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


def namespace(text: str) -> str:
    """Return the name of a namespace; an empty one is that of the context.

    Raises:
        ArgumentTypeError: no namespace may have this name.
    """
    if text and not is_name(text):
        raise ArgumentTypeError(f"{text!r} is not the name of a namespace; to list them: kubectl get namespaces")
    return text


def seconds(text: str) -> float:
    """Return the seconds of a number, or of a duration as kubectl takes it.

    Raises:
        ArgumentTypeError: it is neither, or not greater than 0.
    """
    parts = _DURATION.findall(f"{text}s" if text[-1:].isdigit() else text)
    whole = "".join(number + unit for number, unit in parts) in (text, f"{text}s")
    value = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    if not whole or value <= 0:
        raise ArgumentTypeError("must be seconds or a duration such as 90, 90s or 5m, greater than 0")
    return value


def revision(text: str) -> int:
    """Return the number of a revision.

    Raises:
        ArgumentTypeError: it is none.
    """
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise ArgumentTypeError("must be the number of a revision, such as 3: see kubectl coxswain history")
    return int(text)
