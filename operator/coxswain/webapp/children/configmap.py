"""The ConfigMap with `config` and `files`: immutable, named after its content.

Pods of the old revision keep the ConfigMap they started with, and a change of the content is a rollout.
"""

import hashlib
import json
import re

from coxswain.webapp.identity import metadata
from coxswain.webapp.spec import Manifest, WebApp

CONFIG_HASH = re.compile(r"-[0-9a-f]{10}$")
"""The end of a ConfigMap's name, after the WebApp's."""


def config_map(webapp: WebApp) -> Manifest | None:
    """Return the ConfigMap, or None where there is neither config nor a file."""
    data = _data(webapp)
    if not data:
        return None
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(webapp, name=config_map_name(webapp)),
        "immutable": True,
        "data": data,
    }


def config_map_name(webapp: WebApp) -> str:
    """Return the name, which carries a hash of the content."""
    content = json.dumps(_data(webapp), sort_keys=True, ensure_ascii=False)
    return f"{webapp.name}-{hashlib.sha256(content.encode()).hexdigest()[:10]}"


def file_key(path: str) -> str:
    """Return the key of the file with this path: a path is no valid key, and its position in the list may change."""
    return f"file-{hashlib.sha256(path.encode()).hexdigest()[:10]}"


def _data(webapp: WebApp) -> dict[str, str]:
    files = {file_key(file["path"]): file["content"] for file in webapp.spec.get("files", [])}
    return {**webapp.spec.get("config", {}), **files}
