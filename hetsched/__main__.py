"""`python -m hetsched` is the command `hetsched`."""

import sys

from .cli.main import main

sys.exit(main())
