"""The command line. Each command has a thin module of its own in this package.

A command is imported only when it is called, so that `sparsewood --help` does not load PyTorch.
"""

import difflib
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module

from sparsewood import __version__
from sparsewood.lab import demand

demand("docstring_parser", "tyro")  # only the command line needs these

COMMANDS = {
    "train": "train a model on a source and keep everything in a run folder",
    "evaluate": "measure a trained model, on its own tests or on other data",
    "predict": "label sentences from the command line, a file or standard input",
    "trees": "show the trees that a model selects for sentences",
    "serve": "open a local page that shows prediction and trees for typed sentences",
    "define": "find words for a description with a reverse dictionary",
    "table": "train all rows of a table of the paper and print it beside the paper's figures",
    "compare": "compare estimators, each trained with the same budget",
    "sweep": "search for good options with optuna",
    "report": "write a report of runs as one HTML page",
    "data": "write generated data to files",
    "completion": "print a script that completes commands and options in a shell",
}

EXAMPLES = """\
  sparsewood train listops --estimator top-k:k=5
  sparsewood train sst --data data/sst --vectors glove.6B.300d.txt
  sparsewood trees runs/sst-sparsemap-1 "a gripping film about nothing much" """.rstrip()


class Interrupted(KeyboardInterrupt):
    """Raised on Ctrl-C when the work can be resumed; the message says how."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code; 2 means wrong arguments or data."""
    args = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in args or bool(os.environ.get("SPARSEWOOD_DEBUG"))
    args = [arg for arg in args if arg != "--debug"]
    try:
        with _plain_warnings():
            return _dispatch(args)
    except SystemExit as stop:  # raised by --help, or by tyro
        return stop.code if isinstance(stop.code, int) else 0
    except KeyboardInterrupt as error:
        print(f"\nsparsewood: {str(error) or 'interrupted'}", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of a pipe has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, OSError) as error:
        if debug:
            traceback.print_exc()
        print(f"sparsewood: {_one_line(error)}", file=sys.stderr)
        return 2


def _dispatch(args: list[str]) -> int:
    if args and args[0] == "help":
        args = [*args[1:], "--help"]
    if not args or args[0] in ("-h", "--help"):
        print(_help())
        return 0
    if args[0] in ("-V", "--version", "version"):
        print(f"sparsewood {__version__}")
        return 0
    name, *rest = args
    if name not in COMMANDS:
        raise ValueError(unknown("command", name, COMMANDS) + " (sparsewood --help)")
    import_module(f"sparsewood.lab.cli.{name}").main(rest)
    sys.stdout.flush()  # here, where BrokenPipeError is handled
    return 0


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Print warnings of the library as one line each on standard error."""

    def show(message: Warning | str, *_where: object) -> None:
        print(f"sparsewood: warning: {' '.join(str(message).split())}", file=sys.stderr, flush=True)

    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=UserWarning, module="sparsewood")
        warnings.showwarning = show
        yield


def unknown(what: str, name: str, known: Sequence[str] | dict[str, str]) -> str:
    """The message for a `name` that is not in `known`: the closest match, or all of them."""
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f"unknown {what} {name!r}: did you mean {near[0]!r}?"
    return f"unknown {what} {name!r}: expected one of {', '.join(known)}"


def _help() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:{width}}  {text}" for name, text in COMMANDS.items()]
    return "\n".join(
        [
            "sparsewood: SparseMAP over latent trees",
            "",
            "usage: sparsewood COMMAND [...]",
            "",
            *lines,
            "",
            "sparsewood help COMMAND describes a command. --version prints the version. --debug,",
            "or SPARSEWOOD_DEBUG=1, prints a traceback on errors.",
            "",
            "Examples:",
            EXAMPLES,
        ]
    )


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        reason = error.strerror[0].lower() + error.strerror[1:]
        return reason if error.filename is None else f"{error.filename}: {reason}"
    return " ".join(str(error).split()) or type(error).__name__
