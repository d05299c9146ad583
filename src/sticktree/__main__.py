"""``python -m sticktree`` is the command line."""

import sys

from sticktree.cli import main

if __name__ == "__main__":
    sys.exit(main())
