"""Runs the counting client's own tests in Go, without a cluster."""

import os
import shutil
import subprocess

from cluster.build import go_environment
from kind.images import SOURCE


def test_the_client_counts_what_fails() -> None:
    go = shutil.which("go")
    assert go is not None, "Go builds the images of the suite"
    command = [go, "test", "-count=1", "./..."]
    answer = subprocess.run(command, cwd=SOURCE, env=go_environment(os.environ), capture_output=True, check=False)
    assert answer.returncode == 0, answer.stdout.decode()
