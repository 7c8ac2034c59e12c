#!/usr/bin/env python3
"""ci/layers counts the calls between the objects that a build folder's targets have, and no others: not those of earlier builds, nor one that
merely defines the same name. It refuses what only some C libraries have, and programs, threads and shared libraries that don't go by
src/base/system."""

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


def told_of(folder, text):
    """[place, name] of each fault of a tree in which both a file of base/system and one of the OpenCL backend consist of this text."""
    tree = folder / "tree"
    for part in ("ci", "cl", "include", "src"):
        shutil.copytree(SOURCE / part, tree / part)
    for file in ("base/system/posix/made_up.c", "backends/opencl/driver/made_up.c"):
        (tree / "src" / file).write_text(text)
    build = Build(folder)
    build.add("library", "backends/opencl/driver/made_up.c", GIVES)
    done = build.checked(tree)
    equal(done.stderr, "", done.stdout)
    equal(done.returncode, 1 if done.stdout.startswith("src/") else 0, done.stdout)
    return [line.split(": ")[:2] for line in done.stdout.splitlines() if line.startswith("src/")]


def test_a_call_that_not_every_c_library_has(folder):
    text = "const char *tsri_made_up(int n) { return sigabbrev_np(n); }\n"
    equal(told_of(folder, text), [["src/backends/opencl/driver/made_up.c:1", "sigabbrev_np"]])


def test_what_base_system_alone_starts(folder):
    calls = ["posix_spawn(a, b, c, d, e, f)", "posix_spawnp(a, b, c, d, e, f)", "fork()", "vfork()", "execve(a, b, c)", "execlp(a, b)", "popen(a, b)",
             "system(a)", "waitpid(a, b, c)", "wait4(a, b, c, d)", "waitid(a, b, c, d)", "kill(a, b)", "pthread_create(a, b, c, d)", "pipe(a)",
             "pipe2(a, b)", "socketpair(a, b, c, d)", "dlopen(a, b)", "dlsym(a, b)", "dlclose(a)", "dlerror()", "dladdr(a, b)",
             "CreateProcessW(a)", "LoadLibraryA(a)", "environ[a]"]
    fine = ["wait(a)", "engine->system_memory(a)", "tsri_system_thread(a, b, c)", "pthread_join(a, b)", "a_fork(b)", "environment(a)", "tsri_kill(a)"]
    found = told_of(folder, "".join(f"    {text};\n" for text in calls + fine))
    equal(found, [[f"src/backends/opencl/driver/made_up.c:{i}", text.split("(")[0].split("[")[0]] for i, text in enumerate(calls, 1)])


def test_a_folder_without_a_build_is_told(folder):
    done = subprocess.run([SOURCE / "ci" / "layers", folder], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "build first: cmake --preset dev" in done.stderr, done


main(globals())
