"""The workbench on top of the library: data, tasks, training, reports and the command line.

It needs the extra [lab]. Nothing outside this package imports it.
"""

from importlib.util import find_spec

from sparsewood._internal.extras import how_to_install


def demand(*modules: str) -> None:
    """Raise ImportError naming those of `modules` that are not installed, and the extra."""
    if missing := [name for name in modules if find_spec(name) is None]:
        raise ImportError(
            f"the workbench needs {', '.join(missing)} (extra [lab]): {how_to_install('lab')}",
            name=missing[0],
        )


demand("huggingface_hub", "rich", "safetensors")
