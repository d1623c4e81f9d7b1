"""CHANGELOG.md has the format of Keep a Changelog."""

import re
from pathlib import Path

TEXT = (Path(__file__).parents[2] / "CHANGELOG.md").read_text(encoding="utf-8")
SECTIONS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
VERSION = re.compile(r"\[Unreleased\]|\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}")


def test_unreleased_changes_come_first_and_each_release_has_a_version_and_a_date() -> None:
    titles = re.findall(r"^## (.+)$", TEXT, re.MULTILINE)
    assert titles[0] == "[Unreleased]"
    assert titles.count("[Unreleased]") == 1
    assert [title for title in titles if not VERSION.fullmatch(title)] == []


def test_each_release_has_entries_in_the_sections_of_the_format() -> None:
    for release in TEXT.split("\n## ")[1:]:
        version, *sections = re.split(r"\n### ", release)
        names = [section.partition("\n")[0] for section in sections]
        assert names == [name for name in SECTIONS if name in names], version
        for section in sections:
            blocks = re.split(r"\n(?!  )", section.strip())[1:]
            assert [block for block in blocks if not re.match(r"- \S|$", block)] == [], version
            assert any(blocks), version
