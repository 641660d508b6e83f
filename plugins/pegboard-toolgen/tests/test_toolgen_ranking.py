"""What README and documents speak of stands first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pegboard_toolgen.drafts import Draft
from pegboard_toolgen.ranking import in_order, read_documents, score


def draft(*words: str, category: Any = None) -> Draft:
    return Draft(
        id=" ".join(words),
        words=words,
        binding={"kind": "http"},
        input_schema={},
        output_schema={},
        description="",
        kind="openapi",
        where="",
        category=category,
    )


def test_commands_of_the_readme_come_first_then_verbs_then_what_reads() -> None:
    drafts = [
        draft("dogs", "purge"),
        draft("dogs", "feed"),
        draft("dogs", "show", category="read"),
        draft("dogs", "insertRow"),
    ]
    scores = score(drafts, "Run `dogs insert-row` first. You can feed them.")
    assert [one.id for one in in_order(drafts, scores)] == ["dogs insertRow", "dogs feed", "dogs show", "dogs purge"]


def test_the_order_does_not_depend_on_that_of_the_drafts() -> None:
    drafts = [draft("a", "x"), draft("b", "x"), draft("c")]
    assert in_order(drafts, {}) == in_order(drafts[::-1], {})


def test_documents_are_read_within_bounds_and_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("first")
    (tmp_path / "NOTES.md").write_text("not this")
    (tmp_path / "docs" / "deep").mkdir(parents=True)
    (tmp_path / "docs" / "deep" / "a.rst").write_text("second")
    (tmp_path / "docs" / "image.png").write_text("not this")
    (tmp_path / "secret").write_text("not this")
    (tmp_path / "docs" / "link.md").symlink_to(tmp_path / "secret")
    assert read_documents(tmp_path) == "first\nsecond"
    (tmp_path / "docs" / "big.md").write_text("x" * 500_000)
    assert len(read_documents(tmp_path)) == 400_000 + len("first\n\nsecond")
    for number in range(100):
        (tmp_path / "docs" / f"{number:03}.md").write_text("y")
    assert read_documents(tmp_path).count("y") < 60
