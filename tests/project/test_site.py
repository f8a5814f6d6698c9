"""The site as `make docs` has built it: internal links lead somewhere; in a browser pages, pictures
and the search come up."""

import html.parser
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

SITE = Path(__file__).parents[2] / "build" / "docs"
BROWSER = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
pytestmark = pytest.mark.skipif(
    not (SITE / "index.html").exists(), reason="no site in build/docs: `make docs` builds it"
)
in_a_browser = pytest.mark.skipif(BROWSER is None, reason="no chromium")


class Page(html.parser.HTMLParser):
    """Where a page leads, what it shows, and what can be led to in it."""

    def __init__(self, text):
        super().__init__()
        self.links, self.pictures, self.targets = [], [], {""}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.targets |= {attrs[key] for key in ("id", "name") if attrs.get(key)}
        if tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])
        if tag in ("img", "script", "link"):
            self.pictures.append(attrs.get("src") or attrs.get("href") or "")


@cache
def page(path):
    return Page(path.read_text(encoding="utf-8"))


def test_internal_links():
    # there the theme has its templates
    pages = [path for path in sorted(SITE.rglob("*.html")) if "_static" not in path.parts]
    assert len(pages) > 100
    broken = []
    for path in pages:
        for link in (*page(path).links, *page(path).pictures):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or not link:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            into = target.suffix == ".html" and parts.fragment
            if not target.is_file() or (
                into and unquote(parts.fragment) not in page(target).targets
            ):
                broken.append((str(path.relative_to(SITE)), link))
    assert broken == []


def test_nothing_comes_from_elsewhere():
    """The site works without a network."""
    loaded = {
        (str(path.relative_to(SITE)), name)
        for path in SITE.rglob("*.html")
        if "_static" not in path.parts
        for name in page(path).pictures
    }
    assert len(loaded) > 100
    assert [(path, name) for path, name in loaded if urlsplit(name).netloc] == []


def test_notebooks_are_pages_with_their_outputs():
    notebooks = {path.stem for path in (SITE.parents[1] / "notebooks").glob("*.ipynb")}
    pages = {path.stem for path in (SITE / "notebooks").glob("*.html")}
    assert pages == notebooks
    for name in pages:
        text = (SITE / "notebooks" / f"{name}.html").read_text(encoding="utf-8")
        assert 'class="cell_output' in text
        assert "<img" in text


def test_outputs_have_boxes_of_their_own():
    text = (SITE / "theory.html").read_text(encoding="utf-8")
    assert re.search(r'class="output highlight-none[^>]*>.*?120.0 120', text)
    assert not re.search(r"# -&gt; ", text)


def test_the_gallery_has_pictures():
    shown = [
        name
        for name in page(SITE / "auto_gallery" / "index.html").pictures
        if name.endswith(".png")
    ]
    assert len(shown) > 10
    assert len(set(shown)) == len(shown)  # not the one that stands for a picture that was not made


def in_browser(tmp_path, url, *options):
    """What the browser prints of a page, its scripts having run for some seconds of their own
    clock."""
    command = [
        BROWSER,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--allow-file-access-from-files",
        "--virtual-time-budget=8000",
    ]
    command += [f"--user-data-dir={tmp_path / 'profile'}", *options, f"file://{SITE}/{url}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


@in_a_browser
@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("index.html", "which worker computes what"),
        ("guide/unequal-cores.html", "This machine"),
        ("api/generated/hetsched.partition.html", "hetsched.partition"),
        ("c-api/allocate.html", "hs_distribute"),
        ("auto_gallery/index.html", "Gallery"),
        ("theory.html", "Proof"),
        ("notebooks.html", "Quick start"),
        ("notebooks/quickstart.html", "Why equal splits lose"),
        ("cite.html", "@software{hetsched"),
    ],
)
def test_page(tmp_path, url, says):
    """The page has its text, and each of its pictures is one: a file that is none has no width."""
    assert says in re.sub(r"<[^>]*>", "", in_browser(tmp_path, url, "--dump-dom"))
    for name in page(SITE / url).pictures:
        if name.endswith(".png"):
            data = ((SITE / url).parent / name).read_bytes()
            assert data.startswith(b"\x89PNG")
            assert int.from_bytes(data[16:20], "big") > 50


@in_a_browser
def test_formulas_are_typeset(tmp_path):
    """All of them, by the script of the site, which finds no error in them."""
    written = (SITE / "theory.html").read_text(encoding="utf-8")
    dom = in_browser(tmp_path, "theory.html", "--dump-dom")
    formulas = len(re.findall(r'class="math notranslate', written))
    assert dom.count("<mjx-container") == formulas > 100
    assert "merror" not in dom.split("<mjx-container", 1)[1]


@in_a_browser
def test_search(tmp_path):
    """The search page finds what was asked for, by its own scripts, and nothing of a word that is
    nowhere."""
    found = re.findall(
        r'<a href="([^"?#]*)[^"]*"[^>]*>',
        in_browser(tmp_path, "search.html?q=partition", "--dump-dom").split('id="search-results"')[
            1
        ],
    )
    assert any(link.endswith("hetsched.partition.html") for link in found), found[:20]
    nothing = in_browser(tmp_path, "search.html?q=zyxwvutsr", "--dump-dom").split(
        'id="search-results"'
    )[1]
    assert "did not match any documents" in nothing
