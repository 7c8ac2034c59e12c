#!/usr/bin/env python3
"""CMake refuses to configure the build for a big-endian processor, in a sentence that names the processor."""

import shutil
import subprocess

from support.command import SOURCE, main

# what clang needs for a processor that has no linker and no libraries here
S390X = ("-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=s390x", "-DCMAKE_C_COMPILER=clang", "-DCMAKE_C_COMPILER_TARGET=s390x-linux-gnu",
         "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY")


def refused_by_cmake(folder, processor, *settings):
    done = subprocess.run(["cmake", "-S", SOURCE, "-B", folder / "build", "-G", "Ninja", *settings], capture_output=True, text=True, check=False)
    told = " ".join(done.stderr.split())
    assert done.returncode == 1 and f"Tessera needs a little-endian processor: model files are little-endian, and are read without conversion. The compiler is for a big-endian one, {processor}." in told, done
    assert not (folder / "build/build.ninja").exists(), done


def test_a_compiler_that_is_called_big_endian(folder):
    """What CMake would have found out is given."""
    refused_by_cmake(folder, "mips", "-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=mips", "-DCMAKE_C_COMPILER_WORKS=1", "-DCMAKE_C_ABI_COMPILED=1",
                     "-DCMAKE_C_BYTE_ORDER=BIG_ENDIAN")


def test_a_compiler_for_s390x(folder):
    """CMake finds out by itself."""
    refused_by_cmake(folder, "s390x", *S390X)


if not shutil.which("clang"):  # ci/packages has it for ci/test --all
    del test_a_compiler_for_s390x
main(globals())
