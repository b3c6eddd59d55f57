# SPDX-License-Identifier: GPL-2.0
"""The site: `make site`, Debian's python3-sphinx."""

import pathlib
import re

TOP = pathlib.Path(__file__).resolve().parent.parent

project = "subrtt"
copyright = "the authors of subrtt, GPL-2.0"   # pylint: disable=redefined-builtin # its name in Sphinx
version = release = re.search(r'^PACKAGE_VERSION="(.*)"', (TOP / "dkms.conf").read_text(encoding="utf-8"), re.M)[1]
extensions = ["sphinx.ext.autosectionlabel"]
autosectionlabel_prefix_document = True
highlight_language = "none"
html_theme = "furo"
html_title = f"subrtt {version}"
# opened from disk: nothing comes from elsewhere, and no source is copied beside the pages
html_copy_source = False
html_show_sourcelink = False
nitpicky = True
