"""The documentation site: `make docs`."""

import inspect
import sys
from pathlib import Path

import hetsched

sys.path.insert(0, str(Path(__file__).parent))
import c_api

project = "hetsched"
copyright = author = "the hetsched developers"
release = version = hetsched.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
# What the gallery is made of is not a page; the C pages are written below, those of Python by autosummary.
exclude_patterns = ["gallery", "_templates", "**/.ipynb_checkpoints"]
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_typehints = "none"  # types stand in the docstrings, where arrays have shapes
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the class template lists them
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "filename_pattern": "plot_",
    "doc_module": ("hetsched",),
    "backreferences_dir": "auto_gallery/used_by",
    "reference_url": {"hetsched": None},
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1e9,  # times of one machine, of one day
    "remove_config_comments": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "hetsched"
html_static_path = ["_static"]
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
html_sidebars = {"index": [], "limits": [], "theory": [], "performance": []}


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


def setup(app):
    c_api.write(Path(app.srcdir) / "c-api")
    app.connect("autodoc-process-bases", _bases)
    app.connect("autodoc-process-signature", _signature)
