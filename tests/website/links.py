"""Hook of MkDocs: check the links between all pages of the repository, and resolve links to files outside docs/.

MkDocs validates links between the pages below docs/. A page may also link to any other file of the repository, such as
`../manifests/argocd/health.lua`, because GitHub resolves such a link. This hook checks that the file exists. It points
the link to the file at `repo_url`, or to the file of this checkout if `repo_url` is not set.

The hook also checks the links of pages outside docs/, such as README.md, and gives headings the anchors that GitHub
gives them.
"""

import logging
import posixpath
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
DOCS = "docs/"
BRANCH = "main"
PAGES_OUTSIDE = ("*.md", "tests/**/*.md")

# MkDocs fails a build with --strict after a warning of a logger below its own.
log = logging.getLogger("mkdocs.website")


def anchor(heading: str, separator: str = "-") -> str:
    """Return the anchor of a heading as GitHub makes it: without punctuation, with a hyphen for each space."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", separator)


def target(page: str, url: str) -> str | None:
    """Return the path in the repository that a link of a page leads to; None if it leads elsewhere.

    `page` is the path of the page in the repository.
    """
    parts = urlsplit(url)
    if parts.scheme or parts.netloc or not (parts.path or parts.fragment):
        return None
    if not parts.path:
        return page
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), unquote(parts.path)))


def problem(page: str, url: str, root: Path = ROOT) -> str | None:
    """Return why a link of a page is broken: the file does not exist, or has no such heading. None if it is not."""
    path = target(page, url)
    if path is None:
        return None
    if path.startswith(("../", "/")) or not (root / path).exists():
        return f"{page} contains a link '{url}', but the repository has no file {path}"
    fragment = unquote(urlsplit(url).fragment)
    if fragment and path.endswith(".md") and fragment not in anchors(root / path):
        return f"{page} contains a link '{url}', but {path} has no heading with this anchor"
    return None


@cache
def anchors(path: Path) -> frozenset[str]:
    """Return the anchors of the headings of a page."""
    return frozenset(element.attrib["id"] for element in _elements(path) if "id" in element.attrib)


def links(path: Path) -> list[str]:
    """Return the URLs of the links and images of a page."""
    found = (element.get("href") or element.get("src") for element in _elements(path))
    return [url for url in found if url is not None]


def on_config(config: MkDocsConfig) -> None:
    """Resolve links to files outside docs/, and name anchors as GitHub does."""
    _outside.repo_url = config.repo_url or ""
    extensions: list[Any] = config.markdown_extensions  # Markdown takes names and instances.
    extensions.append(_outside)
    config.mdx_configs.setdefault("toc", {})["slugify"] = anchor


def on_pre_build(config: MkDocsConfig) -> None:  # noqa: ARG001 - MkDocs calls it with this name
    """Check the links of the pages outside docs/."""
    anchors.cache_clear()
    for path in sorted(path for pattern in PAGES_OUTSIDE for path in ROOT.glob(pattern)):
        for url in links(path):
            _warn(problem(path.relative_to(ROOT).as_posix(), url))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> None:  # noqa: ARG001
    """Note which page is converted next: a link is relative to its page."""
    _outside.page = DOCS + page.file.src_uri


class OutsideLinks(Extension):
    """Points links of a page below docs/ to files outside docs/. MkDocs would warn of them."""

    repo_url = ""
    page = ""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - a method of Markdown's
        """Run before MkDocs validates the links, with priority 0."""
        md.treeprocessors.register(_OutsideLinks(self), "outside", 1)

    def url(self, url: str) -> str:
        """Return the absolute URL of a link to a file outside docs/; other URLs unchanged. Warn of a broken link."""
        path = target(self.page, url)
        if path is None or path.startswith(DOCS):
            return url
        _warn(problem(self.page, url))
        base = f"{self.repo_url.rstrip('/')}/blob/{BRANCH}/{path}" if self.repo_url else (ROOT / path).as_uri()
        fragment = urlsplit(url).fragment
        return f"{base}#{fragment}" if fragment else base


class _OutsideLinks(Treeprocessor):
    def __init__(self, outside: OutsideLinks) -> None:
        self._outside = outside

    def run(self, root: Element) -> None:
        for element in root.iter("a"):
            element.set("href", self._outside.url(element.get("href", "")))


_outside = OutsideLinks()


def _elements(path: Path) -> Iterator[Element]:
    collected: list[Element] = []

    class Collect(Treeprocessor):
        def run(self, root: Element) -> None:
            collected.extend(root.iter())

    options: dict[str, Any] = {"toc": {"slugify": anchor}}
    markdown = Markdown(extensions=["toc", "tables", "fenced_code"], extension_configs=options)
    markdown.treeprocessors.register(Collect(), "collect", 0)
    markdown.convert(path.read_text(encoding="utf-8"))
    return iter(collected)


def _warn(text: str | None) -> None:
    if text is not None:
        log.warning(text)
