"""Whether an image registry can be reached from here, found out fast."""

import urllib.error
import urllib.request

from cluster.download import within

REGISTRY = "https://registry-1.docker.io/v2/"
"""Docker Hub, where kindest/node is."""

ANSWER_TIMEOUT_SECONDS = 3.0


def registry_answers(url: str = REGISTRY, timeout_seconds: float = ANSWER_TIMEOUT_SECONDS) -> bool:
    """Tell whether a registry answers in time; `401 Unauthorized` is the answer that one gives to strangers."""
    try:
        within(timeout_seconds, lambda: urllib.request.urlopen(url, timeout=timeout_seconds)).close()
    except urllib.error.HTTPError as error:
        return error.code == 401
    except OSError:
        return False
    return True
