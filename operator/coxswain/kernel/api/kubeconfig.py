"""Read and merge kubeconfig files, and select a context, as client-go does."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from kubernetes.aio.config.kube_config import ConfigNode

_SECTIONS = ("clusters", "contexts", "users")


class NoConnection(Exception):
    """Neither a pod's ServiceAccount nor a usable kubeconfig exists."""


def default_files() -> list[Path]:
    """Return the files in KUBECONFIG; kubectl's default file if it is not set or empty."""
    paths = os.environ.get("KUBECONFIG") or "~/.kube/config"
    return [Path(path).expanduser() for path in paths.split(os.pathsep) if path]


def merged(files: Sequence[Path]) -> ConfigNode:
    """Merge kubeconfig files. The first file with a name or with a current context has precedence.

    Raises:
        NoConnection: no file exists, or one is not readable, not YAML, or not a kubeconfig.
    """
    contents = {file: _content(file) for file in files if file.exists()}
    if not contents:
        raise NoConnection(f"the kubeconfig {shown(files)} does not exist; set --kubeconfig or KUBECONFIG")
    sections = {section: list(_entries(section, contents).values()) for section in _SECTIONS}
    current = next((content["current-context"] for content in contents.values() if content.get("current-context")), "")
    return ConfigNode(shown(files), {**sections, "current-context": current}, str(next(iter(contents))))


def context_of(config: ConfigNode, name: str | None) -> ConfigNode:
    """Return the context with a name; None for the current one.

    Raises:
        NoConnection: there is no such context.
    """
    names = [context.value["name"] for context in config.value["contexts"]]
    wanted = name or config.safe_get("current-context")
    defect = "" if wanted in names else f"context {wanted!r}" if wanted else "current context"
    if defect:
        raise NoConnection(f"the kubeconfig {config.name} has no {defect}; set --context{_context_hint(names)}")
    context: ConfigNode = config["contexts"].get_with_name(wanted)["context"]
    return context


def shown(files: Sequence[Path]) -> str:
    """Return the files for a message."""
    return os.pathsep.join(map(str, files))


def _entries(section: str, contents: dict[Path, dict[str, Any]]) -> dict[Any, ConfigNode]:
    """Return the entries of a section by name. Each knows its file, to which its paths are relative."""
    entries: dict[Any, ConfigNode] = {}
    for file, content in contents.items():
        for entry in content.get(section) or []:
            # Errors of the library contain the name of the node.
            entries.setdefault(entry["name"], ConfigNode(f"{file}/{section}[name={entry['name']}]", entry, str(file)))
    return entries


def _content(file: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except IsADirectoryError:
        raise _unusable(file, "is a directory") from None
    except (OSError, UnicodeDecodeError) as error:
        raise _unusable(file, f"cannot be read: {error}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "it has a character that YAML forbids"
        raise _unusable(file, f"is not YAML: {problem}{where}") from error
    defect = "is empty" if content is None else _shape_defect(content)
    if defect:
        raise _unusable(file, defect)
    return dict(content)


def _unusable(file: Path, defect: str) -> NoConnection:
    return NoConnection(
        f"the kubeconfig {file} {defect}; set --kubeconfig or KUBECONFIG to a file that `kubectl config view` can read"
    )


def _shape_defect(content: object) -> str | None:
    if not isinstance(content, dict):
        return "is not a mapping"
    for section in _SECTIONS:
        entries = content.get(section) or []
        if not isinstance(entries, list) or not all(isinstance(entry, dict) and "name" in entry for entry in entries):
            return f"has {section} that are not a list of named entries"
    return None


def _context_hint(names: Sequence[str]) -> str:
    return f" to one of {', '.join(names)}" if names else ", after one was added with `kubectl config set-context`"
