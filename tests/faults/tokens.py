"""The operator's tokens: in a file that is rewritten while it runs, as the kubelet does in a pod."""

from functools import partial
from pathlib import Path

from cluster import ControlPlane
from cluster.readiness import fetch, wait_until

ACCOUNT, NAMESPACE = "coxswain", "coxswain-system"
_REVOKED_SECONDS = 40.0  # the API server remembers for ten that a token was valid


class Tokens:
    """Hands out tokens of the operator's ServiceAccount.

    Each is bound to a Secret of its own, so that it can be revoked alone: it is void when its Secret is gone.
    """

    def __init__(self, cluster: ControlPlane, run: str, file: Path) -> None:
        """Write them to a file; `run` is a name that no other run has."""
        self.file = file
        self._cluster = cluster
        self._run = run
        self._valid: list[tuple[str, str]] = []
        self._number = 0

    def hand_out(self) -> None:
        """Put a fresh token into the file; those handed out before stay valid."""
        self._number += 1
        secret = f"{self._run}-token-{self._number}"
        self._kubectl("create", "secret", "generic", secret)
        bound = ("--bound-object-kind", "Secret", "--bound-object-name", secret)
        token = self._kubectl("create", "token", ACCOUNT, "--duration", "24h", *bound).strip()
        self._valid.append((secret, token))
        fresh = self.file.with_suffix(".new")
        fresh.touch(mode=0o600)
        fresh.write_text(token + "\n", encoding="utf-8")
        fresh.replace(self.file)

    def revoke_older(self) -> None:
        """Make all but the last one void, and wait until the API server accepts none of them."""
        *older, last = self._valid
        self._valid = [last]
        self._kubectl("delete", "secret", "--ignore-not-found", *(secret for secret, _ in older))
        url, trust = f"{self._cluster.url}/api/v1", self._cluster.ca_file
        for _, token in older:
            wait_until("the end of a token", partial(_is_void, url, trust, token), [], _REVOKED_SECONDS)

    def close(self) -> None:
        """Revoke all of them, and don't wait."""
        secrets = [secret for secret, _ in self._valid]
        self._kubectl("delete", "secret", "--ignore-not-found", "--wait=false", *secrets, check=False)

    def _kubectl(self, *arguments: str, check: bool = True) -> str:
        return self._cluster.kubectl("--namespace", NAMESPACE, *arguments, check=check)


def _is_void(url: str, trust: Path, token: str) -> bool:
    return not fetch(url, trust, token)
