"""What pictures made in Python and in the browser share, read from web/tables.js.

`widths` has characters by their width in thousandths of the font size, `latex` the escapes of
characters that LaTeX reads as commands.
"""

import json
from importlib.resources import files
from typing import Any

_TEXT = files("sparsewood.draw").joinpath("web", "tables.js").read_text(encoding="utf-8")
TABLES: dict[str, Any] = json.loads(_TEXT[_TEXT.index("{") : _TEXT.rindex("}") + 1])
