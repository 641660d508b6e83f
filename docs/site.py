"""What the site has beside the pages of this folder, and what holds for all of them. mkdocs calls the functions that
begin with `on_` while `nox -s docs` builds; their names and arguments are its own.

- each package's README is a page of the site, and so is the generated reference of every public module (`public.py`);
- links that lead out of this folder lead to the page that the site has of it; of a file that is not a page the name
stays;
- no page asks another host for anything: no font, no script, no image.
"""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import griffe
from mkdocs.exceptions import PluginError
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from pymdownx.slugs import slugify

sys.path.insert(0, str(Path(__file__).parent))  # mkdocs imports this file by its path
import public

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

ROOT, PACKAGES = public.ROOT, public.PACKAGES
READMES = {path / "README.md": f"packages/{'pegboard' if path.name == 'core' else path.name}.md" for path in PACKAGES}
"""Files outside of docs/ that are pages, with their places on the site."""
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])+)\]\(([^)\s]+)\)")
CODE = re.compile(r"`[^`]+`")
FENCE = re.compile(r"^( *)(```+).*?^\1\2$", re.MULTILINE | re.DOTALL)
ASKED = re.compile(r"<(?:script|img|iframe|source|video)\b[^>]*\bsrc=[\"']?(?:https?:)?//[^>]*>")
STYLED = re.compile(
    r"<link\b(?=[^>]*\brel=[\"']?(?:stylesheet|icon|preconnect|preload|prefetch))[^>]*(?:https?:)?//[^>]*>"
)
IMPORTED = re.compile(r"@import\s+[^;]*//[^;]*|url\([\"']?(?:https?:)?//[^)]*\)")


@event_priority(100)  # before mkdocstrings reads its settings
def on_config(config: MkDocsConfig) -> None:
    """Add what is generated to the navigation; anchors are those of the forge, which the pages are read on too."""
    config.mdx_configs["toc"]["slugify"] = slugify(case="lower")
    handler = config.plugins["mkdocstrings"].config.handlers["python"]
    handler["paths"] = [str(package / "src") for package in PACKAGES]
    reference = [{place.removeprefix("api/").removesuffix(".md"): place} for place in public.pages()]
    config.nav += [{"Packages": list(READMES.values())}, {"API": reference}]


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the pages that lie elsewhere, and those that are generated."""
    for path, place in READMES.items():
        files.append(File.generated(config, place, content=path.read_text(encoding="utf-8")))
    for place, text in public.pages().items():
        files.append(File.generated(config, place, content=text))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links lead to pages, and show the name of the file that a block becomes."""
    place = page.file.src_uri
    sources = {there: path for path, there in READMES.items()}
    here = sources.get(place, ROOT / "docs" / place)

    def relink(match: re.Match[str]) -> str:
        text, target = match.groups()
        path, hash_sign, anchor = target.partition("#")
        if not path or re.match(r"[a-z]+:", target):
            return match[0]
        there = (here.parent / path).resolve()
        if there == ROOT / "README.md":  # its own headings are not on the site
            there, hash_sign, anchor = ROOT / "docs" / "README.md", "", ""
        found = READMES.get(there) or (
            there.is_relative_to(ROOT / "docs") and there.relative_to(ROOT / "docs").as_posix()
        )
        return f"[{text}]({posixpath.relpath(found, posixpath.dirname(place))}{hash_sign}{anchor})" if found else text

    def in_prose(text: str) -> str:
        # The forge ends a cell at `|` even in code, unless it is escaped; Python-Markdown shows the escape.
        rows = re.sub(
            r"(?m)^\|.*", lambda row: re.sub(r"`[^`]+`", lambda code: code[0].replace(r"\|", "|"), row[0]), text
        )
        return LINK.sub(relink, rows)

    pieces = []
    end = 0
    for fence in FENCE.finditer(markdown):
        block = re.sub(r"^( *```+\w+) file=(\S+)", r'\1 title="\2"', fence[0])
        pieces += [in_prose(markdown[end : fence.start()]), block]
        end = fence.end()
    return "".join([*pieces, in_prose(markdown[end:])])


class Docstrings(griffe.Extension):
    """What docstrings say in reStructuredText, in the Markdown that they are rendered as."""

    def on_package(self, *, pkg: griffe.Module, **others: Any) -> None:
        """Rewrite every docstring of a package that was read."""
        waiting: list[griffe.Object] = [pkg]
        while waiting:
            one = waiting.pop()
            waiting += [member for member in one.members.values() if isinstance(member, griffe.Object)]
            if one.docstring is not None:
                text = re.sub(r"^\.\. versionadded:: (\S+)$", r"*Since \1.*", one.docstring.value, flags=re.MULTILINE)
                one.docstring.value = re.sub(r"::$", ":", text, flags=re.MULTILINE)


def on_post_build(config: MkDocsConfig) -> None:
    """Refuse a site whose pages ask another host for anything."""
    asked = {}
    for path in Path(config.site_dir).rglob("*"):
        if path.suffix in (".html", ".css"):
            text = path.read_text(encoding="utf-8")
            for rule in (ASKED, STYLED) if path.suffix == ".html" else (IMPORTED,):
                asked |= {match[0][:120]: path.name for match in rule.finditer(text)}
    if asked:
        raise PluginError("pages ask other hosts: " + "; ".join(f"{name}: {what}" for what, name in asked.items()))
