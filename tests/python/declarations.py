#!/usr/bin/env python3
"""What Python thinks of the public headers is what a C compiler thinks: the generated file is up to date, and every constant, every
struct's size and every field's place are the same."""

import ctypes
import os
import subprocess
import sys

from support import binding  # noqa: F401  # pylint: disable=unused-import
from support.command import SOURCE, main

import tessera_cl
from tessera_cl import _declarations as c


def declare(*arguments, **options):
    return subprocess.run([sys.executable, str(SOURCE / "python" / "declare.py"), *arguments], capture_output=True, text=True, check=False, **options)


def test_file_is_what_the_headers_give(folder):
    done = declare("--check")
    assert done.returncode == 0, done.stderr


def test_drift_is_found(folder):
    """A header with a field more, in a copy of the tree."""
    for part in ("include/tessera", "python/tessera_cl"):
        (folder / part).mkdir(parents=True)
    for path in [*SOURCE.glob("include/tessera/*.h"), SOURCE / "python/declare.py", SOURCE / "python/tessera_cl/_declarations.py"]:
        (folder / path.relative_to(SOURCE)).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    script = [sys.executable, str(folder / "python" / "declare.py"), "--check"]
    assert subprocess.run(script, check=False).returncode == 0
    header = folder / "include/tessera/search.h"
    header.write_text(header.read_text(encoding="utf-8").replace("uint32_t reserved;", "uint32_t reserved, more;"), encoding="utf-8")
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "run python/declare.py" in done.stderr, done
    header.write_text("#include \"tessera/status.h\"\ntypedef union tsr_x { int a; } tsr_x;\n", encoding="utf-8")
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "tessera/search.h" in done.stderr, done


def structs():
    return {name: kind for name, kind in vars(c).items() if isinstance(kind, type) and issubclass(kind, ctypes.Structure) and hasattr(kind, "_fields_")}


def test_layout_is_the_compilers(folder):
    wanted, lines = [], []
    for name, kind in structs().items():
        wanted.append(ctypes.sizeof(kind))
        lines.append(f"(long long)sizeof({name})")
        for field in kind._fields_:
            wanted += [getattr(kind, field[0]).offset, getattr(kind, field[0]).size]
            lines += [f"(long long)offsetof({name}, {field[0]})", f"(long long)sizeof((({name} *)0)->{field[0]})"]
    for name, value in vars(c).items():
        if name.startswith("TSR_"):
            wanted.append(value)
            lines.append(f"(long long){name}")
    assert len(structs()) > 60 and len(wanted) > 1000, (len(structs()), len(wanted))
    source = folder / "layout.c"
    source.write_text("#include \"tessera/tessera.h\"\n#include <stdio.h>\nstatic const long long values[] = {" + ",\n".join(lines) +
                      "};\nint main(void) { for (size_t i = 0; i < sizeof values / sizeof *values; i++) printf(\"%lld\\n\", values[i]); }\n")
    subprocess.run([os.environ.get("CC", "cc"), f"-I{SOURCE / 'include'}", str(source), "-o", str(folder / "layout")], check=True)
    got = list(map(int, subprocess.run([str(folder / "layout")], capture_output=True, text=True, check=True).stdout.split()))
    wrong = [(line, a, b) for line, a, b in zip(lines, got, wanted) if a != b]
    assert len(got) == len(wanted) and not wrong, wrong[:5]


def test_every_status_has_an_exception(folder):
    del folder
    statuses = {name: value for name, value in vars(c).items() if name.startswith("TSR_E_")}
    classes = [kind for kind in vars(tessera_cl).values() if isinstance(kind, type) and issubclass(kind, tessera_cl.TesseraError) and kind.status]
    assert len(statuses) > 10 and sorted(kind.status for kind in classes) == sorted(statuses.values()), (statuses, classes)


main(globals())
