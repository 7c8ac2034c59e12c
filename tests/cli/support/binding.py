"""The Python package of the source tree on the build's library, for tests/python; without NumPy the test is skipped."""

import os
import sys

from support.command import BUILD, PLAY, SOURCE

try:
    import numpy  # noqa: F401  # pylint: disable=unused-import
except ImportError:
    print("SKIP: NumPy is not installed (Debian: apt-get install python3-numpy)")
    sys.exit(77)

sys.path.insert(0, str(SOURCE / "python"))
os.environ["TESSERA_LIBRARY"] = str(BUILD / "lib" / "libtessera.so")
os.environ["TESSERA_MODELS"] = str(PLAY.parent)
os.environ["TESSERA_RECIPES"] = str(SOURCE / "recipes")
os.environ["XDG_DATA_HOME"] = "/nonexistent"
os.environ.pop("TESSERA_DEVICE", None)
