"""The documentation's site has every page. `nox -s docs` builds it and holds the links; nothing here needs mkdocs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "core" / "README.md", *sorted((ROOT / "plugins").glob("*/README.md")), *sorted(DOCS.rglob("*.md"))]
SITE: dict[str, Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))


def pages_in(nav: Any) -> list[str]:
    """The pages of a navigation, in its order."""
    match nav:
        case str():
            return [nav]
        case dict():
            return [page for part in nav.values() for page in pages_in(part)]
        case _:
            return [page for part in nav for page in pages_in(part)]


def test_the_navigation_lists_every_page_once() -> None:
    assert sorted(pages_in(SITE["nav"])) == sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


def test_the_navigation_has_the_sections_and_the_order_of_the_first_page() -> None:
    text = (DOCS / "README.md").read_text(encoding="utf-8")
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)[1:]
    linked = {
        heading: re.findall(r"^- \[[^\]]+\]\(([^)#]+)", listed, re.MULTILINE)
        for heading, listed in zip(parts[::2], parts[1::2], strict=True)
    }
    home, *sections = SITE["nav"]
    assert pages_in(home) == ["README.md"]
    assert {heading: pages for section in sections for heading, pages in section.items()} == linked


def test_the_theme_and_the_build_are_strict_and_ask_no_other_host() -> None:
    assert SITE["strict"] is True
    assert SITE["theme"]["font"] is False
    assert not re.search(r"https?://", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert set(SITE["validation"].values()) == {"warn"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_lists_and_tables_begin_after_a_blank_line(page: Path) -> None:
    """Else a forge shows a list or a table, and Python-Markdown a paragraph."""
    text = re.sub(r"^( *)(```+).*?^\1\2$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    blocks = re.split(r"\n\s*\n", text)
    begins = re.compile(r"^(?:\||[-*] |1\. )")
    joined = [
        line
        for block in blocks
        for before, line in zip(block.strip("\n").split("\n"), block.strip("\n").split("\n")[1:], strict=False)
        if begins.match(line) and not re.match(r"^(?:\||\s*[-*] |\s*\d+\. |  )", before)
    ]
    assert joined == []
