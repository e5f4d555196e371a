"""The documentation names code that exists and all that is public, and its links lead somewhere."""

from __future__ import annotations

import ast
import functools
import html.parser
import importlib
import pathlib
import pkgutil
import re
import subprocess
import sys
import urllib.parse
from collections.abc import Callable

import pytest

import river_oauc

ROOT = pathlib.Path(__file__).parents[1]
PLACES = sorted(
    set(re.findall(r"`([\w/]+\.py)::([\w.]+)`", (ROOT / "docs/paper.md").read_text("utf-8")))
)


in_the_repository = pytest.mark.skipif(
    not (ROOT / "river_oauc").exists(), reason="needs the sources beside the tests"
)


@functools.cache
def names_in(file: str) -> set[str]:
    """The functions, classes and methods of a file; those of a class by their dotted names."""
    definitions = (ast.FunctionDef, ast.ClassDef)
    names = set()
    path = ROOT / file if file.startswith("tests/") else ROOT / "river_oauc" / file
    for item in ast.parse(path.read_text("utf-8")).body:
        if isinstance(item, definitions):
            members = [child for child in ast.walk(item) if isinstance(child, definitions)]
            names |= {item.name, *(f"{item.name}.{member.name}" for member in members)}
    return names


def test_the_page_of_the_paper_names_code() -> None:
    assert len(PLACES) > 30


@in_the_repository
@pytest.mark.parametrize(("file", "name"), PLACES)
def test_the_code_that_the_page_of_the_paper_names_exists(file: str, name: str) -> None:
    assert name in names_in(file)


class Page(html.parser.HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, path: pathlib.Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.anchors = {""}
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "id":
                self.anchors.add(value or "")
            elif name in ("src", "srcset") or (tag == "link" and name == "href"):
                self.loaded.add(value or "")
            elif name == "href":
                self.links.add(value or "")


def of_the_site(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test that needs the site, which is built once."""
    return pytest.mark.docs(pytest.mark.xdist_group("docs")(test))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[pathlib.Path, Page]:
    """The pages of the site."""
    pytest.importorskip("mkdocs", reason='needs the extra "docs"')
    directory = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", directory]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    # The page of errors is shown at any address, so its links start at the root of the server.
    paths = sorted(set(directory.rglob("*.html")) - {directory / "404.html"})
    return {path: Page(path) for path in paths}


@of_the_site
def test_every_link_inside_the_site_leads_somewhere(site: dict[pathlib.Path, Page]) -> None:
    assert len(site) > 30
    broken = []
    for path, page in site.items():
        for link in page.links | page.loaded:
            url = urllib.parse.urlsplit(link)
            if url.scheme or url.netloc:
                continue
            target = (path.parent / urllib.parse.unquote(url.path)).resolve() if url.path else path
            target = target / "index.html" if target.is_dir() else target
            anchors = site[target].anchors if target in site else {"", url.fragment}
            if not target.exists() or urllib.parse.unquote(url.fragment) not in anchors:
                broken.append((path.as_posix(), link))
    assert broken == []


@of_the_site
def test_the_site_loads_nothing_from_elsewhere(site: dict[pathlib.Path, Page]) -> None:
    loaded = {link for page in site.values() for link in page.loaded}
    assert loaded
    assert [link for link in loaded if re.match(r"\w+://|//", link)] == []


@of_the_site
def test_every_public_name_is_in_the_reference(site: dict[pathlib.Path, Page]) -> None:
    """Public are the names in `__all__` of the package and of the modules right below it."""
    below = [f"river_oauc.{module.name}" for module in pkgutil.iter_modules(river_oauc.__path__)]
    public: dict[str, str] = {}
    for module in ["river_oauc", *below]:
        for name in getattr(importlib.import_module(module), "__all__", []):
            # A class of the package itself is documented as such.
            public.setdefault(name, f"{module}.{name}")
    pages = [page for path, page in site.items() if "api" in path.parts]
    documented = set().union(*(page.anchors for page in pages))
    assert {"river_oauc.AutoOAUC", "river_oauc.metrics.ExactROCAUC"} <= set(public.values())
    assert [name for name in public.values() if name not in documented] == []
