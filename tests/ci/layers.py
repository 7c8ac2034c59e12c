#!/usr/bin/env python3
"""ci/layers counts the calls between the objects that a build folder's targets have, and no others: not those of earlier builds, nor one that
merely defines the same name. It refuses what only some C libraries have."""

import json
import os
import shutil
import subprocess

from support.command import SOURCE, equal, main

CALLER, ALLOWED, ABOVE = "base/bytes.c", "base/record.c", "run/place.c"  # files of src/: base may not call run


class Build:
    """A build folder with objects of some files of src/, which give or take one name, each older than the next."""

    def __init__(self, folder):
        self.folder, self.commands, self.age = folder, [], 0

    def add(self, target, file, text, named=True):
        source, made = self.folder / "text.c", self.folder / "CMakeFiles" / f"{target}.dir" / "src" / f"{file}.o"
        made.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(text)
        subprocess.run([os.environ.get("CC", "cc"), "-c", source, "-o", made], check=True)
        self.age += 1
        os.utime(made, (made.stat().st_atime, made.stat().st_mtime + self.age))
        if named:
            relative = made.relative_to(self.folder)
            self.commands.append({"directory": str(self.folder), "command": f"cc -o {relative} -c text.c", "file": str(source)})

    def checked(self, tree=SOURCE):
        (self.folder / "compile_commands.json").write_text(json.dumps(self.commands))
        return subprocess.run([tree / "ci" / "layers", self.folder], capture_output=True, text=True, check=False)


GIVES, TAKES = "int tsri_made_up(void) { return 0; }", "int tsri_made_up(void); int tsri_other(void) { return tsri_made_up(); }"
FAULT = f"src/{CALLER} calls tsri_made_up of src/{ABOVE}: base may not include run\n"


def test_a_call_upwards_is_reported(folder):
    build = Build(folder)
    build.add("library", ABOVE, GIVES)
    build.add("library", CALLER, TAKES)
    done = build.checked()
    equal((done.returncode, done.stdout), (1, FAULT), done.stderr)


def test_objects_of_earlier_builds_do_not_count(folder):
    build = Build(folder)
    build.add("gone", ABOVE, GIVES, named=False)
    build.add("library", ALLOWED, GIVES)
    build.add("library", CALLER, TAKES)
    done = build.checked()
    equal((done.returncode, done.stderr), (0, ""), done.stdout)
    assert "the calls of 2 objects, all allowed" in done.stdout, done.stdout


def test_a_plugin_s_own_name_is_not_the_library_s(folder):
    for first, second in (((("plugin", ABOVE), ("library", ALLOWED))), (("library", ALLOWED), ("plugin", ABOVE))):
        build = Build(folder)
        for target, file in (first, second):
            build.add(target, file, GIVES)
        build.add("archive", CALLER, TAKES)
        done = build.checked()
        equal((done.returncode, done.stderr), (0, ""), done.stdout)


def test_a_call_that_not_every_c_library_has(folder):
    tree = folder / "tree"
    for part in ("ci", "cl", "include", "src"):
        shutil.copytree(SOURCE / part, tree / part)
    text = "const char *tsri_made_up(int n) { return sigabbrev_np(n); }\n"
    for file in ("base/system/posix/made_up.c", "backends/opencl/driver/made_up.c"):
        (tree / "src" / file).write_text(text)
    build = Build(folder)
    build.add("library", "backends/opencl/driver/made_up.c", GIVES)
    done = build.checked(tree)
    equal((done.returncode, done.stderr), (1, ""), done.stdout)
    equal([line.split(": ")[:2] for line in done.stdout.splitlines()], [["src/backends/opencl/driver/made_up.c:1", "sigabbrev_np"]], done.stdout)


def test_a_folder_without_a_build_is_told(folder):
    done = subprocess.run([SOURCE / "ci" / "layers", folder], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "build first: cmake --preset dev" in done.stderr, done


main(globals())
