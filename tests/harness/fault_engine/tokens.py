"""The operator's tokens, in a file that is rewritten at runtime, as the kubelet does in a pod."""

from functools import partial
from pathlib import Path

from cluster import ControlPlane
from cluster.readiness import fetch, wait_until

_REVOKED_SECONDS = 40.0  # the API server caches valid tokens for 10 s


class Tokens:
    """Issues tokens of the operator's ServiceAccount.

    Each token is bound to its own Secret. Deleting this Secret revokes only this token.
    """

    def __init__(self, cluster: ControlPlane, account: tuple[str, str], run: str, file: Path) -> None:
        """Write the tokens to a file.

        Args:
            cluster: the cluster.
            account: namespace and name of the ServiceAccount.
            run: a unique name of the run.
            file: the file.
        """
        self.file = file
        self._namespace, self._account = account
        self._cluster = cluster
        self._run = run
        self._valid: list[tuple[str, str]] = []
        self._number = 0

    def issue(self) -> None:
        """Write a new token to the file; older tokens stay valid."""
        self._number += 1
        secret = f"{self._run}-token-{self._number}"
        self._kubectl("create", "secret", "generic", secret)
        bound = ("--bound-object-kind", "Secret", "--bound-object-name", secret)
        token = self._kubectl("create", "token", self._account, "--duration", "24h", *bound).strip()
        self._valid.append((secret, token))
        fresh = self.file.with_suffix(".new")
        fresh.touch(mode=0o600)
        fresh.write_text(token + "\n", encoding="utf-8")
        fresh.replace(self.file)

    def revoke_older(self) -> None:
        """Revoke all tokens except the newest, and wait until the API server rejects them."""
        *older, last = self._valid
        self._valid = [last]
        self._kubectl("delete", "secret", "--ignore-not-found", *(secret for secret, _ in older))
        url, trust = f"{self._cluster.url}/api/v1", self._cluster.ca_file
        for _, token in older:
            wait_until("the revocation of a token", partial(_is_void, url, trust, token), [], _REVOKED_SECONDS)

    def close(self) -> None:
        """Revoke all tokens, without waiting."""
        secrets = [secret for secret, _ in self._valid]
        self._kubectl("delete", "secret", "--ignore-not-found", "--wait=false", *secrets, check=False)

    def _kubectl(self, *arguments: str, check: bool = True) -> str:
        return self._cluster.kubectl("--namespace", self._namespace, *arguments, check=check)


def _is_void(url: str, trust: Path, token: str) -> bool:
    return not fetch(url, trust, token)
