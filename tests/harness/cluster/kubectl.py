"""Calls kubectl with the cluster's kubeconfig and nothing of the user's."""

import subprocess
from pathlib import Path

from cluster.configuration import ENVIRONMENT
from cluster.processes import clean_environment, start_guarded, stop


class KubectlError(RuntimeError):
    """kubectl failed; the message contains its standard error. `code` is None after a timeout."""

    def __init__(self, command: tuple[str, ...], stdout: str, stderr: str, code: int | None) -> None:
        outcome = "timed out" if code is None else f"exited with code {code}"
        super().__init__(f"kubectl {' '.join(command)} {outcome}: {stderr.strip()}")
        self.command = command
        self.stdout = stdout
        self.stderr = stderr
        self.code = code


def run_kubectl(
    program: Path,
    arguments: tuple[str, ...],
    *,
    kubeconfig: Path,
    home: Path,
    stdin: str | None,
    check: bool,
    timeout_seconds: float,
) -> str:
    """Return the standard output of one call; its caches are in `home`.

    Raises KubectlError after the timeout, and for a non-zero exit code if `check`.
    """
    process = start_guarded(
        [str(program), f"--kubeconfig={kubeconfig}", *arguments],
        environment=clean_environment(home, ENVIRONMENT),
        stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        out, err = process.communicate(None if stdin is None else stdin.encode(), timeout_seconds)
    except subprocess.TimeoutExpired:
        stop(process, grace_seconds=1)
        out, err = process.communicate()
        raise KubectlError(arguments, out.decode(), f"{timeout_seconds} s; {err.decode()}", None) from None
    except BaseException:
        stop(process, grace_seconds=1)
        raise
    if check and process.returncode != 0:
        raise KubectlError(arguments, out.decode(), err.decode(), process.returncode)
    return out.decode()
