"""`python -m sparsewood` is `sparsewood`, the command line of the workbench."""

import os
import sys


def main() -> int:
    """Runs the command line, or says in a line what it lacks. Returns the exit code."""
    try:
        from sparsewood.lab._waiting import wait_briefly

        wait_briefly(os.environ)  # before anything imports PyTorch
        from sparsewood.lab import cli
    except ImportError as error:
        print(f"sparsewood: {error}", file=sys.stderr)
        return 2
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
