"""`python -m sparsewood` is `sparsewood`."""

import sys

from sparsewood.cli import main

if __name__ == "__main__":
    sys.exit(main())
