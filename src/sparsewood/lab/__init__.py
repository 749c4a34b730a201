"""The workbench on top of the library: data, tasks, training, reports and the command line.

It needs the extra [lab]. Nothing outside this package imports it.
"""

from importlib.util import find_spec

_NEEDED = ("docstring_parser", "huggingface_hub", "rich", "safetensors", "tyro")

if _missing := [name for name in _NEEDED if find_spec(name) is None]:
    raise ImportError(
        f"the workbench needs {', '.join(_missing)}: pip install 'sparsewood[lab]'",
        name=_missing[0],
    )
