"""Settings of the documentation: ``python dev.py docs``."""

import re
import warnings

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml
from sklearn.exceptions import ConvergenceWarning
from sphinx_gallery.sorting import ExplicitOrder

import manykernels

project = "manykernels"
author = "The manykernels developers"
copyright = author
release = version = manykernels.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
    "matplotlib.sphinxext.plot_directive",
]
exclude_patterns = ["_build", "benchmarks/reproduction"]
templates_path = ["_templates"]
suppress_warnings = ["config.cache"]  # sphinx-gallery's settings hold functions
html_baseurl = ""

# Pages -------------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "manykernels"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": False,
    "show_toc_level": 2,
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {
    page: []
    for page in ("index", "start", "idea", "api", "compare", "auto_examples/*", "generated/*")
}

myst_enable_extensions = ["dollarmath", "deflist", "attrs_block"]
myst_heading_anchors = 3

# Interface ---------------------------------------------------------------------------------------

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# Examples and figures ----------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"plot_",
    "ignore_pattern": r"demo\.py",
    "within_subsection_order": ExplicitOrder(
        [
            "plot_interactions.py",
            "plot_effects.py",
            "plot_local.py",
            "plot_path.py",
            "plot_priorities.py",
            "plot_convergence.py",
            "plot_sources.py",
            "plot_classes.py",
        ]
    ),
    "abort_on_example_error": True,
    "capture_repr": ("_repr_html_",),
    "copyfile_regex": r".*\.rst",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,  # times say more about the machine than about the examples
}
plot_html_show_source_link = False
plot_html_show_formats = False
plot_include_source = False
plot_formats = [("png", 160)]
warnings.filterwarnings("error", category=ConvergenceWarning)


# Formulas ----------------------------------------------------------------------------------------
# As MathML, made here: pages need no script and no network to show them.

SIZES = re.compile(r"\\([bB]igg?)\s*([(\[)\]])")
"""Sizes of brackets without a side, which docutils does not know."""


def _formula(node, block):
    text = node.astext().replace(r"\dots", r"\ldots")
    text = SIZES.sub(lambda m: rf"\{m[1]}{'l' if m[2] in '([' else 'r'}{m[2]}", text)
    made = tex2mathml(text, as_block=block)
    return re.sub("<mo>([⟨⟩])</mo>", r'<mo stretchy="false">\1</mo>', made)


def _inline(translator, node):
    translator.body.append(_formula(node, False))
    raise SkipNode


def _block(translator, node):
    translator.body.append(f'<div class="formula">{_formula(node, True)}</div>\n')
    raise SkipNode


html_math_renderer = "mathml"


def _join_continued(app, what, name, obj, options, lines):
    """Join lines that end with a backslash, which raw docstrings keep, to the next."""
    text = re.sub(r"\\\n\s*", "", "\n".join(lines))
    lines[:] = text.split("\n")


def setup(app):
    """Register what is particular to this site."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("autodoc-process-docstring", _join_continued, priority=400)  # before numpydoc
