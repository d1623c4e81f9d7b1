"""Checks quickly whether an image registry is reachable."""

import urllib.error
import urllib.request

from cluster.download import within

REGISTRY = "https://registry-1.docker.io/v2/"
"""Docker Hub, which has kindest/node."""

ANSWER_TIMEOUT_SECONDS = 3.0


def registry_answers(url: str = REGISTRY, timeout_seconds: float = ANSWER_TIMEOUT_SECONDS) -> bool:
    """Return whether a registry answers in time. The expected answer to anonymous requests is `401 Unauthorized`."""
    try:
        within(timeout_seconds, lambda: urllib.request.urlopen(url, timeout=timeout_seconds)).close()
    except urllib.error.HTTPError as error:
        return error.code == 401
    except OSError:
        return False
    return True
