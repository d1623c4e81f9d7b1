"""Another version of the operator: its image with a made-up render version 2, whose pods have another preStop sleep."""

import io
import tarfile
import tempfile
from pathlib import Path

from cluster.kind.engine import Engine

ROOT = Path(__file__).parents[2]
MODULE = Path("coxswain/webapp/releases/render.py")
SLEEP_SECONDS = 9
ADDED = f"""

VERSIONS["2"] = __import__("dataclasses").replace(VERSIONS["1"], pre_stop_sleep_seconds={SLEEP_SECONDS})
"""


def build_other_version(engine: Engine, image: str) -> str:
    """Build the other version on top of the operator's image; return its tag. Raises DockerError."""
    tag = f"{image}-other"
    source = (ROOT / "operator" / MODULE).read_text(encoding="utf-8") + ADDED
    with tempfile.TemporaryDirectory(prefix="coxswain-other-version-") as scratch:
        context = Path(scratch) / "context.tar"
        with tarfile.open(context, "w") as files:
            _add(files, "Dockerfile", f"FROM {image}\nCOPY render.py /app/{MODULE}\n")
            _add(files, "render.py", source)
        engine.build(context, tag)
    return tag


def _add(files: tarfile.TarFile, name: str, text: str) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(text.encode()), 0o644
    files.addfile(entry, io.BytesIO(text.encode()))
