"""Errors for kernels, each an edit of a copy of cl/ that begins to matter at some size."""

import re
import shutil

from support.command import SOURCE

LAST_K = [(r"k < K;", "k < K - (K > 512);")]
IDS = r"min\(max\(ids\[ids0 \+ n\], 0\), whole - 1\)"
FROM_ID_100 = [(IDS, "min(max(ids[ids0 + n], 0), min(whole - 1, 99))")]
# {error: {file: [(pattern, replacement)]}}
ERRORS = {
    "linear without its last input behind 512": {"linear/packed_tile.clh": LAST_K, "weighted/streams.clh": LAST_K},
    "attention from key 128": {"attention/one_query.clh": [(r'(#include "attention/visible.clh")', r"\1\n    end = min(end, 128);")],
                               "attention/lanes_visible.clh": [(r"stop = min\(stop, len\[len0 \+ b\]\);", "stop = min(min(stop, len[len0 + b]), 128);")]},
    "embed from id 100": {"embed/lanes.cl": FROM_ID_100},
    "embed of the last id": {"embed/lanes.cl": [(IDS, "min(max(ids[ids0 + n], 0), max(whole - 2, 0))")]},
    "embed and its plain rows from id 100": {"embed/lanes.cl": FROM_ID_100, "embed/plain.cl": FROM_ID_100},
    "a chain without its last items": {"chain/workers.cl": [(r"min\((first \+ each \* \(is_large \? large : 1\)), items\)", r"min(\1, items - (items > 100))")]},
}


def plant(folder, error):
    """A copy of cl/ with one of the errors. AssertionError: an edit changes nothing."""
    tree = folder / "cl"
    shutil.copytree(SOURCE / "cl", tree)
    for name, changes in ERRORS[error].items():
        text = (tree / name).read_text()
        for pattern, replacement in changes:
            text, n = re.subn(pattern, replacement, text)
            assert n, f"{error}: cl/{name} has no {pattern!r}"
        (tree / name).write_text(text)
    return tree
