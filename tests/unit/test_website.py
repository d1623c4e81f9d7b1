"""The hook of MkDocs: anchors like GitHub's, links to files outside docs/, and broken links."""

from pathlib import Path

import pytest
from markdown import Markdown

from website.links import OutsideLinks, anchor, links, problem


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("# Page\n\n    # a comment\n\n[all](../README.md) ![](chart.svg)\n")
    (tmp_path / "README.md").write_text("# What it is\n\n## `spec.image`, or: what's run\n\n```sh\n# none\n```\n")
    return tmp_path


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("What it costs", "what-it-costs"),
        ("`kubectl apply`, then wait", "kubectl-apply-then-wait"),
        ("B6: killed & started", "b6-killed--started"),
        ("snake_case and re-use", "snake_case-and-re-use"),
    ],
)
def test_an_anchor_is_that_of_github(heading: str, expected: str) -> None:
    assert anchor(heading.replace("`", "")) == expected


@pytest.mark.parametrize(
    ("page", "url"),
    [
        ("docs/page.md", "../README.md"),
        ("docs/page.md", "../README.md#what-it-is"),
        ("docs/page.md", "#page"),
        ("README.md", "docs"),
        ("README.md", "docs/page.md#page"),
        ("README.md", "#specimage-or-whats-run"),
        ("README.md", "https://kubernetes.io/#anchor"),
        ("README.md", "mailto:someone@example.com"),
    ],
)
def test_a_link_to_a_file_or_heading_that_exists_is_no_problem(repository: Path, page: str, url: str) -> None:
    assert problem(page, url, repository) is None


@pytest.mark.parametrize(
    ("page", "url", "why"),
    [
        ("docs/page.md", "README.md", "no file docs/README.md"),
        ("docs/page.md", "../../README.md", "no file ../README.md"),
        ("docs/page.md", "/README.md", "no file /README.md"),
        ("docs/page.md", "../README.md#none", "README.md has no heading"),
        ("docs/page.md", "#a-comment", "docs/page.md has no heading"),
    ],
)
def test_a_broken_link_is_described(repository: Path, page: str, url: str, why: str) -> None:
    assert f"{page} contains a link '{url}', but " in (found := problem(page, url, repository) or "")
    assert why in found


def test_links_and_images_of_a_page_are_found(repository: Path) -> None:
    assert links(repository / "docs" / "page.md") == ["../README.md", "chart.svg"]


def test_a_link_to_a_file_outside_docs_leads_to_the_repository(caplog: pytest.LogCaptureFixture) -> None:
    outside = OutsideLinks()
    outside.page, outside.repo_url = "docs/decisions/0001.md", "https://example.com/coxswain/"
    text = "[a](../../Makefile) [b](../install.md#top) `[c](../../none)` [d]\n\n[d]: ../../none.py#L1"
    html = Markdown(extensions=[outside]).convert(text)
    assert 'href="https://example.com/coxswain/blob/main/Makefile"' in html
    assert 'href="../install.md#top"' in html
    assert 'href="https://example.com/coxswain/blob/main/none.py#L1"' in html
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "no file none.py" in caplog.text


def test_without_a_url_of_the_repository_a_link_leads_to_the_file_of_this_checkout() -> None:
    outside = OutsideLinks()
    outside.page = "docs/page.md"
    assert outside.url("../Makefile") == (Path(__file__).parents[2] / "Makefile").as_uri()
