"""Compilers for GPU instruction sets that need no GPU: fetched from Debian and PyPI into a folder; nothing is installed.

clang compiles OpenCL C for AMD (with the built-in functions of ROCm) and, to PTX, for NVIDIA (with those of libclc); ptxas makes NVIDIA's
instructions of it; ocloc is Intel's compiler. The vendors' own drivers have other builds of these compilers, so what is learned here is close
to what a driver makes, and not the same.
"""

import os
import pathlib
import subprocess
import sys

PACKAGES = ("clang-19", "libclang1-19", "libclang-cpp19", "libclang-common-19-dev", "libllvm19", "libclc-19", "libclc-19-dev", "llvm-19-linker-tools",
            "rocm-device-libs", "intel-opencl-icd", "libigc1", "libigdfcl1", "libigc-tools", "libigdgmm12", "libopencl-clang14", "libllvmspirvlib14")
# ptxas 13 has no sm_70, and nvdisasm 13 does not read it.
WHEELS = ("nvidia-cuda-nvcc", "nvidia-cuda-nvdisasm", "nvidia-cuda-nvcc-cu12")


class Missing(Exception):
    """The compilers are not here and can't be fetched; the text says why."""


def folder():
    named = os.environ.get("TESSERA_OFFLINE_COMPILERS")
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(named) if named else pathlib.Path(cache) / "tessera-offline-compilers"


def call(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, errors="replace", check=False, **options)


def need(done, what):
    if done.returncode:
        raise Missing(f"{what}: {(done.stderr or done.stdout).strip().splitlines()[-1:]}")


def fetch(into):
    """Downloads 240 MB and unpacks them below `into`, 1 GB."""
    into.mkdir(parents=True, exist_ok=True)
    for part in ("deb/partial", "wheels", "root", "nvidia"):
        (into / part).mkdir(parents=True, exist_ok=True)
    try:
        get = ("apt-get", "-qq", "-y", "-d", "--reinstall", "--no-install-recommends", "-o", f"Dir::Cache::archives={into / 'deb'}", "-o", "Debug::NoLocking=1",
               "-o", "APT::Sandbox::User=", "install", *PACKAGES)
        done = call(*get)
        if done.returncode and os.geteuid() == 0:  # the lists of packages may be missing or old
            call("apt-get", "-qq", "update")
            done = call(*get)
        need(done, "Debian's packages can't be downloaded (apt-get update may help)")
        for package in sorted((into / "deb").glob("*.deb")):
            need(call("dpkg", "-x", package, into / "root"), package.name)
        need(call(sys.executable, "-m", "pip", "-q", "download", "--no-deps", "-d", into / "wheels", *WHEELS), "Python packages can't be downloaded")
    except FileNotFoundError as error:
        raise Missing(f"{error.filename} is not on this machine") from None
    for wheel in sorted((into / "wheels").glob("*.whl")):
        need(call(sys.executable, "-m", "zipfile", "-e", wheel, into / "nvidia" / wheel.name.split("-")[0]), wheel.name)
    for tool in (into / "nvidia").rglob("bin/*"):
        tool.chmod(0o755)
    libraries = into / "root/usr/lib/x86_64-linux-gnu"
    (libraries / "libiga64.so").unlink(missing_ok=True)
    (libraries / "libiga64.so").symlink_to("libiga64.so.1")  # the name that ocloc asks for
    (into / "complete").touch()


class Compilers:
    """The fetched compilers; raises Missing where they can't be had."""

    def __init__(self, tell=lambda text: None):
        self.at = folder()
        if not (self.at / "complete").exists():
            tell(f"fetching compilers into {self.at} (240 MB)")
            fetch(self.at)
        self.root = self.at / "root/usr"
        self.libraries = self.root / "lib/x86_64-linux-gnu"
        self.environment = dict(os.environ, LD_LIBRARY_PATH=f"{self.root}/lib/llvm-19/lib:{self.libraries}")

    def run(self, *command):
        return call(*command, env=self.environment)

    def nvidia(self, name, release):
        """A program of the wheel whose name begins so: ptxas of nvidia_cuda_nvcc or nvidia_cuda_nvcc_cu12."""
        return next((self.at / "nvidia" / release).rglob(f"bin/{name}"))

    def clang(self, source, standard, *options):
        return self.run(self.root / "lib/llvm-19/bin/clang", "-x", "cl", f"-cl-std={standard}", "-Xclang", "-finclude-default-header", "-w", "-O3", "-S", source, *options)

    def clang_from_llvm(self, made, *options):
        """Instructions from LLVM's text, which was optimised already."""
        return self.run(self.root / "lib/llvm-19/bin/clang", "-x", "ir", "-w", "-O3", "-Xclang", "-disable-llvm-passes", "-S", made, *options)
