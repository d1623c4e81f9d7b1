"""Builds the kubectl plugin: a zipapp, an archive for krew, and krew's manifest with the checksum of the archive.

Two builds of one source give the same bytes: names are sorted, and times, users and modes are fixed.
"""

import ast
import gzip
import hashlib
import io
import marshal
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from importlib.util import MAGIC_NUMBER, source_hash
from pathlib import Path

from kubectl_coxswain import VERSION

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "operator"
PLUGIN, OPERATOR = "kubectl_coxswain", "coxswain"
MANIFEST = ROOT / "manifests" / "krew" / "coxswain.yaml"

_SHEBANG = b"#!/usr/bin/env python3\n"
_MAIN = """\
import sys

if sys.version_info < (3, 11):
    sys.stderr.write(
        "error: kubectl coxswain needs Python 3.11 or later, and python3 is Python %d.%d.%d\\n"
        "next: put a later python3 first in PATH, or run it by hand: "
        'python3.11 "$(command -v kubectl-coxswain)"\\n' % tuple(sys.version_info[:3])
    )
    sys.exit(2 if "plan" in sys.argv else 1)

from kubectl_coxswain.__main__ import main

sys.exit(main())
"""
"""Valid in older versions of Python, for their message. `plan` ends with 2 after an error."""
_COMPLETE = '#!/bin/sh\n# kubectl runs this to complete `kubectl coxswain`.\nexec kubectl-coxswain __complete "$@"\n'
_UNCHECKED = (1).to_bytes(4, "little")
_BEGINNING = (1980, 1, 1, 0, 0, 0)
"""The first time that a zip file can record."""


def modules() -> list[Path]:
    """Return the files of the plugin, and those of the operator that it imports, at the top or in a function."""
    found: set[Path] = set()
    waiting = sorted((SOURCE / PLUGIN).rglob("*.py"))
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += _imported(path)
    return sorted(found)


def _imported(path: Path) -> Iterator[Path]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for name in (node.module, *(f"{node.module}.{each.name}" for each in node.names)):
                yield from _files(name)
        elif isinstance(node, ast.Import):
            for each in node.names:
                yield from _files(each.name)


def _files(module: str) -> Iterator[Path]:
    """Yield the file of one of our modules, and those of its packages."""
    names = module.split(".")
    if names[0] not in (PLUGIN, OPERATOR):
        return
    for length in range(1, len(names) + 1):
        path = SOURCE.joinpath(*names[:length])
        yield from (each for each in (path / "__init__.py", path.with_suffix(".py")) if each.is_file())


def zipapp() -> bytes:
    """Return the executable zip file."""
    packed = io.BytesIO(_SHEBANG)
    packed.seek(len(_SHEBANG))
    sources = {str(path.relative_to(SOURCE)): path.read_bytes() for path in modules()}
    bytecode = {f"{name}c": compiled(name, source) for name, source in sources.items()}
    contents = {**sources, **{name: code for name, code in bytecode.items() if code is not None}}
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted({**contents, "__main__.py": _MAIN.encode()}.items()):
            entry = zipfile.ZipInfo(name, _BEGINNING)
            entry.compress_type, entry.external_attr, entry.create_system = zipfile.ZIP_DEFLATED, 0o644 << 16, 3
            archive.writestr(entry, content)
    return packed.getvalue()


def compiled(name: str, source: bytes) -> bytes | None:
    """Return the bytecode of a module for this version of Python; other versions compile the source at each start.

    The import system must not compare it with the source (PEP 552). Version 2 of marshal has no references, which
    would depend on the state of the process. None if it cannot represent the module: Python 3.14 has constant slices,
    which need version 5 (https://github.com/python/cpython/pull/126829).
    """
    code = compile(source, name, "exec", dont_inherit=True, optimize=0)
    try:
        return MAGIC_NUMBER + _UNCHECKED + source_hash(source) + marshal.dumps(code, 2)
    except ValueError:
        return None


def archive(plugin: bytes) -> bytes:
    """Return the archive for krew."""
    files = {
        "LICENSE": ((ROOT / "LICENSE").read_bytes(), 0o644),
        "kubectl-coxswain": (plugin, 0o755),
        "kubectl_complete-coxswain": (_COMPLETE.encode(), 0o755),
    }
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, (content, mode) in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), mode
            tar.addfile(entry, io.BytesIO(content))
    return gzip.compress(packed.getvalue(), mtime=0)


def krew(packed: bytes) -> str:
    """Return krew's manifest for an archive."""
    text = MANIFEST.read_text(encoding="utf-8").partition("\napiVersion")
    checksum = hashlib.sha256(packed).hexdigest()
    return "apiVersion" + text[2].replace("VERSION", f"v{VERSION}").replace("SHA256", checksum)


def build(folder: Path) -> list[Path]:
    """Write all files into a folder; return their paths."""
    plugin = zipapp()
    packed = archive(plugin)
    contents = {
        "kubectl-coxswain": (plugin, 0o755),
        "kubectl_complete-coxswain": (_COMPLETE.encode(), 0o755),
        "kubectl-coxswain.tar.gz": (packed, 0o644),
        "coxswain.yaml": (krew(packed).encode(), 0o644),
    }
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, (content, mode) in contents.items():
        path = folder / name
        path.write_bytes(content)
        path.chmod(mode)
        written.append(path)
    return written


def main() -> int:
    """Build into dist/ and return the exit code."""
    for path in build(ROOT / "dist"):
        print(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
