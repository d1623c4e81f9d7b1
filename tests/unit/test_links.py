"""Relative links of the pages lead to files that exist, and to headings that they have."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


@cache
def prose(page: Path) -> str:
    """Return a page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


@cache
def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page: Path, link: str) -> bool:
    """Tell whether a link leads nowhere."""
    name, _, anchor = link.partition("#")
    target = (page.parent / name).resolve() if name else page
    return not target.exists() or (bool(anchor) and target.suffix == ".md" and anchor not in anchors(target))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page: Path) -> None:
    links = [link for link in re.findall(r"\]\(\s*([^)\s]+)\s*\)", prose(page)) if "://" not in link]
    assert [link for link in links if broken(page, link)] == []


def test_a_broken_link_is_seen() -> None:
    page = ROOT / "docs" / "webapp.md"
    assert not broken(page, "install.md#the-image")
    assert broken(page, "install.md#no-such-heading")
    assert broken(page, "no-such-page.md")
