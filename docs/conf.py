"""Configuration of the documentation site, built by Sphinx: `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import quorate

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

project = "Quorate"
author = "The Quorate developers"
copyright = "2026, the Quorate developers"
version = release = quorate.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "reference_pages",
    "edit_links",
    "notebooks",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_extensions", "_templates"]
# `name` in a docstring is a link where it names something public, and code otherwise
default_role = "py:obj"
nitpicky = False
# the pages must build on a machine without a network, so that links to other projects are written out
intersphinx_mapping: dict[str, tuple[str, None]] = {}

myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 4
# tutorials are executed whenever the site is built, and an error in one fails the build
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE / "_build" / "executed")
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True
nb_code_prompt_show = "Show the code"
nb_code_prompt_hide = "Hide the code"

autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False
add_module_names = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

toc_object_entries_show_parents = "hide"
html_theme = "pydata_sphinx_theme"
html_title = f"Quorate {version}"
html_static_path = ["_static"]
html_favicon = "_static/quorate.svg"
html_css_files = ["quorate.css"]
html_show_sourcelink = False
html_copy_source = False
REPOSITORY = "https://github.com/quorate/quorate"
html_context = {
    "github_user": "quorate",
    "github_repo": "quorate",
    "github_version": "main",
    "doc_path": "docs",
    "default_mode": "auto",
}
html_theme_options = {
    "github_url": REPOSITORY,
    "use_edit_page_button": True,
    "show_toc_level": 2,
    "navigation_with_keys": True,
    "header_links_before_dropdown": 6,
    "show_version_warning_banner": False,
    "footer_start": ["copyright"],
    "footer_end": ["version"],
    "secondary_sidebar_items": ["page-toc", "edit-this-page"],
}
html_sidebars = {"index": []}


def setup(app: Any) -> None:
    """Leave the pages of docs/decisions out of the menu: their index links to all of them."""

    def leave_out(app: Any, env: Any) -> None:
        for name in (name for name in env.found_docs if name.startswith("decisions/0")):
            env.metadata[name]["orphan"] = True

    app.connect("env-updated", leave_out)
