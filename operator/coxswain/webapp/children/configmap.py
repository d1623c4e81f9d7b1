"""The ConfigMap with `config` and `files`: immutable, named after its content.

Pods of the old revision keep the ConfigMap they started with, and a change of the content is a rollout.
"""

import re

from coxswain.webapp.content import data
from coxswain.webapp.identity import metadata
from coxswain.webapp.spec import Manifest, WebApp

CONFIG_HASH = re.compile(r"-[0-9a-f]{10}$")
"""The end of a ConfigMap's name, after the WebApp's."""


def config_map(webapp: WebApp) -> Manifest | None:
    """Return the ConfigMap, or None where there is neither config nor a file."""
    content = data(webapp.spec)
    if not content:
        return None
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(webapp, name=config_map_name(webapp)),
        "immutable": True,
        "data": content,
    }


def config_map_name(webapp: WebApp) -> str:
    """Return the name, which carries a hash of the content."""
    return f"{webapp.name}-{webapp.content_hash}"
