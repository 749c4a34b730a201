"""`python -m sparsewood`: the command line of `sparsewood.lab`."""

import os
import sys


def main() -> int:
    """Run the command line, or print which extra it needs. Returns the exit code."""
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
