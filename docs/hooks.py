"""Hooks of MkDocs: show pages from all over the repository, whose links work there and here."""

from __future__ import annotations

import html
import pathlib
import posixpath
import re

import latex2mathml.converter
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

DOCS = pathlib.Path(__file__).parent.resolve()
ROOT = DOCS.parent
# Pages and figures from outside `docs`.
ELSEWHERE = [
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "benchmarks/**/*.md",
    "benchmarks/**/*.png",
    "notebooks/*.ipynb",
]
MARKDOWN_LINK = re.compile(r"(?<!!)\[([^]]+)\]\((?!https?:|#)([^)#]+)(#[^)]*)?\)")
CITATION = re.compile(r"\[\^(\d)\]")
BACK_REFERENCE = re.compile(r'\s*<a class="footnote-backref".*?</a>')
NOTEBOOK_LINK = re.compile(r'href="([^":#?]+\.(?:ipynb|md))(#[^"]*)?"')
NOTEBOOK_TEXT = re.compile(r'jp-MarkdownOutput".*?</div>', re.DOTALL)
FORMULA = re.compile(r"\$\$(.+?)\$\$|\$(.+?)\$", re.DOTALL)


# Before the plugin that renders the notebooks.
@event_priority(100)
def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is outside `docs`."""
    for pattern in ELSEWHERE:
        for path in sorted(ROOT.glob(pattern)):
            uri = path.relative_to(ROOT).as_posix()
            files.append(File(uri, str(ROOT), config.site_dir, config.use_directory_urls))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links between files of the repository into links of the site, or into plain text."""

    def resolve(link: re.Match[str]) -> str:
        path, file = _linked(link[2], page, files)
        if file is not None:
            target = posixpath.relpath(file.src_uri, posixpath.dirname(page.file.src_uri))
            return f"[{link[1]}]({target}{link[3] or ''})"
        # Of a link that leads nowhere, MkDocs warns.
        return link[1] if path.exists() else link[0]

    return MARKDOWN_LINK.sub(resolve, markdown)


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Mend what plugins leave: references of docstrings, links and formulas of notebooks.

    Text and references of a docstring are rendered one by one, so they cannot link to each other.
    Formulas become MathML, which needs no script.
    """
    if not page.file.src_uri.endswith(".ipynb"):
        return BACK_REFERENCE.sub("", CITATION.sub(r"[\1]", content))

    def resolve(link: re.Match[str]) -> str:
        _, file = _linked(link[1], page, files)
        if file is None:
            return link[0]
        return f'href="{file.url_relative_to(page.file)}{link[2] or ""}"'

    content = NOTEBOOK_LINK.sub(resolve, content)
    return NOTEBOOK_TEXT.sub(lambda text: FORMULA.sub(_to_mathml, text[0]), content)


def _linked(target: str, page: Page, files: Files) -> tuple[pathlib.Path, File | None]:
    """Return what a relative link leads to in the repository, and in the site if it is there."""
    path = (pathlib.Path(page.file.abs_src_path or "").parent / target).resolve()
    base = DOCS if path.is_relative_to(DOCS) else ROOT
    uri = path.relative_to(base).as_posix() if path.is_relative_to(base) else ""
    return path, files.get_file_from_path(uri)


def _to_mathml(formula: re.Match[str]) -> str:
    display = formula[1] is not None
    tex = html.unescape(formula[1] if display else formula[2])
    return latex2mathml.converter.convert(tex, display="block" if display else "inline")
