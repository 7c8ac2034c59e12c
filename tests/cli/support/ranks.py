"""Starting several ranks by mpirun, and ending one of them."""

import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import time

from support.command import BUILD, COMMAND, PATIENCE, SOURCE, Result, environment, equal, run, skip

PLUGIN = BUILD / "lib" / "tessera" / "transports" / "mpi.so"
LIMITED = BUILD / "bench" / "transports" / "limited.so"  # makes another transport slower (bench/network)
SPLIT = ("--split-layers",)
# Ranks may be more than cores, and none is bound to one. `root` may start them, as it may in a container.
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]


def need_mpi():
    if not PLUGIN.exists() or not shutil.which("mpirun"):
        skip("the transport mpi was not built, or there is no mpirun")


def own_lines(text):
    """What ranks wrote, without the lines that mpirun adds when it ends a run. It stops those that have not ended when the first one fails."""
    return [line for line in text.splitlines() if line.startswith(("tessera: ", "failed: ", "step ")) and line != "tessera: stopped by SIGTERM"]


def ranks(n, command, *arguments, env=None, code=0, options=(), cwd=None):
    """Runs n ranks; mpirun's exit code must be `code`, unless that is None."""
    env = env or environment()
    env = dict(env, TESSERA_TRANSPORT_PATH=f"{PLUGIN.parent}:{LIMITED.parent}", LIMITED_TRANSPORT=str(PLUGIN))
    done = subprocess.run([*MPIRUN, *options, "-n", str(n), str(command), *map(str, arguments)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=cwd, timeout=PATIENCE, check=False)
    result = Result(done)
    assert code is None or result.code == code, f"{n} ranks of {command} {arguments}: wanted exit code {code}, got {result}"
    return result


def same(*arguments, numbers=(3,), code=0, but=None, together=(), **options):
    """Any number of ranks, with the arguments `together`, must print what one process prints, but for the lines that begin with `but`."""
    def shown(result):
        return [line for line in result.text.split("\n") if not but or not line.startswith(but)]
    one = run(*arguments, code=code, **options)
    for n in numbers:
        several = ranks(n, COMMAND, *arguments, *together, code=code, **options)
        equal(shown(several), shown(one), f"{n} ranks of {arguments}")
    return one


def refused_by_all(n, code, *arguments):
    """What n ranks say that are refused: each says the sentence, or that another rank has ended with it. mpirun's code is that of the first."""
    result = ranks(n, COMMAND, *arguments, *SPLIT, code=None)
    assert result.code in (code, 5), result
    return own_lines(result.err)


def broken_at(folder, name, array):
    """A bundled model in which one element of this array is a NaN."""
    model = folder / "model"
    shutil.copytree(SOURCE / "models" / name, model)
    file = model / "model.safetensors"
    data = bytearray(file.read_bytes())
    size = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8:8 + size])
    begin = head[array]["data_offsets"][0] + 8 + size
    data[begin + 4096:begin + 4098] = b"\xff\x7f"  # a NaN in f16
    file.write_bytes(data)
    return model


def running(name):
    """Processes that work on a file of this name."""
    left = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
            if words[0] == str(COMMAND).encode() and str(name).encode() in words:
                left.append(int(path.parent.name))
        except OSError:
            pass
    return sorted(left)


def apart(folder, n, *arguments):
    """Starts n ranks of the command that outlive each other; `told` reads what each said. mpirun may lose the last line of a rank that ends,
    so each writes to a file of its own."""
    keep = '"$@" 2>"$0.$OMPI_COMM_WORLD_RANK"; echo $? >"$0.code.$OMPI_COMM_WORLD_RANK"'
    command = [*MPIRUN, "--enable-recovery", "-n", str(n), "sh", "-c", keep, str(folder / "told"), str(COMMAND), *map(str, arguments)]
    env = environment(TESSERA_TRANSPORT_PATH=str(PLUGIN.parent))
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)


def told(folder, n):
    """The exit codes of the ranks, and what each wrote to standard error."""
    return ([int((folder / f"told.code.{i}").read_text()) for i in range(n)], [(folder / f"told.{i}").read_text() for i in range(n)])


def rank_goes_away(folder, how, n, ends, name, *arguments):
    """n ranks work on the file `name`; one gets the signal `how` at a random moment after they have joined, which rank 0 shows by its first
    line. All must end soon, and what each of the others says must have `ends` in it."""
    with apart(folder, n, *arguments, "--deadline", "3") as process:
        until = time.monotonic() + 60
        begun = folder / "told.0"
        while not (begun.exists() and begun.stat().st_size) and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(random.uniform(0, 1))
        victim = random.choice(running(name))
        os.kill(victim, how)
        sent = time.monotonic()
        while [other for other in running(name) if other != victim] and time.monotonic() - sent < 60:
            time.sleep(0.05)
        took = time.monotonic() - sent
        for left in running(name):
            os.kill(left, signal.SIGKILL)
        process.communicate(timeout=60)
    equal(running(name), [])
    assert took < 30, took
    codes, said = told(folder, n)
    equal(sorted(codes), [5] * (n - 1) + [137])
    for code, text in zip(codes, said):
        assert code == 137 or [line for line in own_lines(text) if ends in line and " rank " in line], said
