"""What the tests of the command share: running it, the form of its failures, small models, and the loop over a script's tests.

A test is a function whose name begins with `test_`; it is given a new folder. Env: TESSERA_BUILD (the build folder), TESSERA_SOURCE,
TESSERA_SHARED (larger data from outside, optional), TESSERA_TEST_CASES (smoke, some or all: tests/support/cases.h),
TESSERA_TEST_DEVICES (the device of the device_* scripts; default: pocl).
"""

import json
import math
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import traceback

SOURCE = pathlib.Path(os.environ.get("TESSERA_SOURCE", pathlib.Path(__file__).resolve().parents[3]))
BUILD = pathlib.Path(os.environ.get("TESSERA_BUILD", SOURCE / "build" / "dev"))
SHARED = pathlib.Path(os.environ.get("TESSERA_SHARED") or "/nonexistent")
COMMAND = str(BUILD / "bin" / "tessera")
GOLDEN = SOURCE / "tests" / "golden" / "models"
PLAY = SOURCE / "models" / "shakespeare"  # the bundled model: a GPT-2 with a tokenizer
DEVICE = os.environ.get("TESSERA_TEST_DEVICES", "pocl").split(",")[0]
CASES = os.environ.get("TESSERA_TEST_CASES") or "some"
ALL = CASES == "all"  # slow tests are run completely: ci/test --all
PATIENCE = None  # scripts wait for a process without a time limit: ci/limit ends what hangs


def environment(**changes):
    """The environment of this process, with the source tree's bundled models, without the user's models, and with no device chosen; None removes a variable."""
    env = dict(os.environ, TESSERA_MODELS=str(PLAY.parent), XDG_DATA_HOME="/nonexistent")
    for name in ("TESSERA_DEVICE", "TESSERA_TEST_DEVICES"):
        env.pop(name, None)
    for name, value in changes.items():
        env.pop(name, None)
        if value is not None:
            env[name] = str(value)
    return env


def small_buffers(most, *others):
    """What makes pocl's largest buffer so many bytes: a layer reports it and refuses larger ones, beside other layers of tests/opencl."""
    return {"OPENCL_LAYERS": ":".join(str(BUILD / "tests" / f"{name}_layer.so") for name in ("small", *others)), "TSR_SMALL_ALLOC": str(most)}


class Result:
    def __init__(self, done):
        self.code, self.out = done.returncode, done.stdout
        self.err = done.stderr.decode("utf-8", "replace")

    @property
    def text(self):
        return self.out.decode()

    def __repr__(self):
        return f"exit code {self.code}\nstdout {self.out[-2000:]!r}\nstderr {self.err[-2000:]}"


def run(*arguments, code=0, given=b"", env=None, cwd=None, stdout=subprocess.PIPE):
    """Runs the command; its exit code must be `code`, unless that is None."""
    given = given.encode() if isinstance(given, str) else given
    result = Result(subprocess.run([COMMAND, *map(str, arguments)], input=given, stdout=stdout, stderr=subprocess.PIPE, cwd=cwd,
                                   env=env or environment(), check=False))
    assert code is None or result.code == code, f"tessera {' '.join(map(str, arguments))}: wanted exit code {code}, got {result}"
    return result


def refused(code, fragment, *arguments, lines=1, **options):
    """The command must end with this exit code, with nothing on stdout, and with one message on stderr that has `fragment` in it."""
    result = run(*arguments, code=code, **options)
    assert result.out == b"", f"{arguments}: something was printed: {result}"
    assert fragment in result.err, f"{arguments}: {fragment!r} is missing: {result}"
    said = [line for line in result.err.splitlines() if not line.startswith(("tessera: device: ", "tessera: seed: "))]
    assert said[0].startswith("tessera: ") and (lines is None or len(said) == lines), f"{arguments}: {lines} line(s) wanted: {result}"
    assert "\033" not in result.err, f"{arguments}: an escape code went to a file: {result}"
    return result


def start(*arguments, env=None, **options):
    return subprocess.Popen([COMMAND, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env=env or environment(), **options)


def slowness():
    """How many times longer a computation takes here now than on an idle machine: time limits are multiplied by this."""
    begun, spent = time.monotonic(), time.process_time()
    while time.process_time() < spent + 0.1:
        pass
    return max(1, (time.monotonic() - begun) / 0.1)


def equal(got, wanted, what=""):
    assert got == wanted, f"{what}: wanted {wanted!r:.1500}, got {got!r:.1500}"


def copy_model(source, folder, without=()):
    """A copy of a model that may be changed."""
    folder.mkdir(parents=True)
    for path in source.iterdir():
        if path.is_file() and path.name not in ("cases.json", "expected.safetensors", "model.gguf", *without):
            shutil.copy(path, folder / path.name)
    return folder


def change_json(path, **changes):
    """Sets keys of a JSON file; None removes a key."""
    held = json.loads(path.read_text())
    for key, value in changes.items():
        held[key] = value
        if value is None:
            del held[key]
    path.write_text(json.dumps(held))


def read_safetensors(path):
    """{name: (shape, values)} of a file of f32 arrays."""
    data = pathlib.Path(path).read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    arrays = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            equal((entry["dtype"], end - begin), ("F32", 4 * math.prod(entry["shape"])), name)
            arrays[name] = entry["shape"], struct.unpack(f"<{(end - begin) // 4}f", data[8 + size + begin:8 + size + end])
    return arrays


def write_safetensors(path, arrays):
    """Writes {name: (shape, values)} as f32 arrays."""
    header, body = {}, b""
    for name, (shape, values) in arrays.items():
        data = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def larger(name):
    """Marks a test that needs this external data. Where the data are missing, the test does not exist: no package that one could install has them."""
    return lambda test: test if (SHARED / name).exists() else None


def slow(test):
    """Marks a test that is left out where the fewest cases are taken: what it reaches in C, the script's other tests reach too."""
    return None if CASES == "smoke" else test


def due(items, n=1):
    """n of the items, others for each commit; with ci/test --all, all of them. Scripts take turns by TESSERA_TEST_TURN % 6 (ci/test), items by
    TESSERA_TEST_TURN // 6."""
    turn = int(os.environ.get("TESSERA_TEST_TURN") or 0) // 6 * n
    return items if ALL else [items[(turn + i) % len(items)] for i in range(min(n, len(items)))]


def skip(reason):
    """Ends the script, which is skipped then unless one of its tests has failed. A test that alone can't run here prints the reason and returns."""
    print(f"SKIP: {reason}")
    sys.exit(77)


def has_device(name=DEVICE):
    """Whether `name` selects a usable device on this machine; otherwise a script for it is skipped."""
    done = subprocess.run([COMMAND, "explain", "-q", "-d", name, str(GOLDEN / "gpt2-tiny")], capture_output=True, env=environment(), check=False)
    return done.returncode != 4


def main(tests):
    """Runs each test_ function of a script's globals() in a folder of its own; ends the process."""
    failed = 0
    for name, test in [(name, test) for name, test in tests.items() if name.startswith("test_") and test]:
        with tempfile.TemporaryDirectory(prefix="tessera-cli-") as folder:
            begun = time.monotonic()
            try:
                test(pathlib.Path(folder))
                told = "ok"
            except (AssertionError, OSError, ValueError, LookupError, subprocess.SubprocessError):
                traceback.print_exc(limit=2)
                told = "FAILED"
                failed += 1
            except SystemExit:
                if not failed:
                    raise
                break
            print(f"{told:6} {time.monotonic() - begun:6.2f} s  {name[5:].replace('_', ' ')}", flush=True)
    sys.exit(1 if failed else 0)
