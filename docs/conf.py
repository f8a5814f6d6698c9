"""The documentation site: `make docs`."""

import importlib.util
import inspect
import re
import sys
from pathlib import Path

from docutils import nodes

import hetsched

sys.path.insert(0, str(Path(__file__).parent))
import c_api
import gallery_order

project = "hetsched"
copyright = author = "the hetsched developers"
release = version = hetsched.__version__

extensions = [
    "myst_nb",  # pages of Markdown, and the notebooks
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
# The sources of the gallery are not pages. The C pages and the notebooks are written below, the
# pages of Python by autosummary. The gallery's own notebooks are downloads.
exclude_patterns = ["gallery", "_templates", "**/.ipynb_checkpoints", "auto_gallery/**.ipynb"]
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_fence_as_directive = ["math"]  # as on GitHub
myst_heading_anchors = 4
nb_execution_mode = "off"  # pages of notebooks show the stored outputs; tests run them

# MathJax is one file of the site, so that formulas need no network. It draws with SVG, which needs
# no fonts.
mathjax_path = "tex-svg.js"
mathjax3_config = {"svg": {"scale": 0.9}}  # as large as the text around

autosummary_generate = True
autodoc_typehints = "none"  # types stand in the docstrings, where arrays have shapes
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the class template lists them
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "filename_pattern": "plot_",
    "subsection_order": [f"gallery/{folder}" for folder in gallery_order.ORDER],
    "within_subsection_order": "gallery_order.TeachingOrder",
    "doc_module": ("hetsched",),
    "backreferences_dir": "auto_gallery/used_by",
    "reference_url": {"hetsched": None},
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,  # times of one machine, of one day
    "min_reported_time": 1e9,
    "remove_config_comments": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "hetsched"
html_static_path = [
    "_static",
    str(
        Path(importlib.util.find_spec("sphinx-mathjax-offline").origin).parent
        / "static/mathjax"
        / mathjax_path
    ),
]
html_extra_path = ["../build/reproduction"]  # `hetsched reproduce`'s page
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "hetsched"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "navigation_depth": 3,
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
}
html_sidebars = {"index": [], "cite": [], "limits": [], "theory": [], "performance": []}


def _bases(app, name, kind, options, bases):
    """Only classes that users know: in the place of others, those that they inherit from."""
    found = []
    for base in kind.__mro__[1:]:
        known = base.__name__ in hetsched.__all__ or not base.__module__.startswith("hetsched")
        if known and base is not object and not any(issubclass(other, base) for other in found):
            found.append(base)
    bases[:] = found or [object]


def _signature(app, what, name, value, options, signature, returns):
    """Results are not made by users: a class that describes no parameters shows none."""
    if what == "class" and "\nParameters\n" not in inspect.cleandoc(value.__doc__ or ""):
        return "", None
    return signature, None


def _notebooks(folder):
    """The notebooks, where their links into docs/ lead to pages of the site."""
    folder.mkdir(exist_ok=True)
    for notebook in (folder.parents[1] / "notebooks").glob("*.ipynb"):
        text = notebook.read_text(encoding="utf-8").replace("](../docs/", "](../")
        page = folder / notebook.name
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


_SHOWN = re.compile(r"^(.*?)# -> (.*)$")
_GOES_ON = re.compile(r"[\s)\]}]|# -> |(else|elif|except|finally)\b")


def _separate_outputs(app, doctree):
    """Moves what an example prints, written as `# -> ...` in its code, to boxes below the code.

    A box follows the statement that prints, so that each part of the code can be copied and run.
    """
    for block in list(doctree.findall(nodes.literal_block)):
        if block.get("language") != "python" or "# -> " not in block.astext():
            continue
        parts, code, shown = [], [], []
        for line in [*block.astext().splitlines(), None]:
            if shown and (line is None or (line and not _GOES_ON.match(line))):
                text = "\n".join(code).strip("\n")
                parts.append(nodes.literal_block(text, text, **block.attributes))
                text = "\n".join(shown)
                parts.append(nodes.literal_block(text, text, language="none", classes=["output"]))
                code, shown = [], []
            if line is not None and (found := _SHOWN.match(line)):
                shown.append(found[2])
                line = found[1].rstrip() or None
            if line is not None:
                code.append(line)
        if text := "\n".join(code).strip("\n"):
            parts.append(nodes.literal_block(text, text, **block.attributes))
        block.replace_self(parts)


def setup(app):
    c_api.write(Path(app.srcdir) / "c-api")
    _notebooks(Path(app.srcdir) / "notebooks")
    app.connect("doctree-read", _separate_outputs)
    app.connect("autodoc-process-bases", _bases)
    app.connect("autodoc-process-signature", _signature)
