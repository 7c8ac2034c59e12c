"""Starting several ranks by mpirun, and ending one of them."""

import json
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import time

from support.command import BUILD, COMMAND, SOURCE, Result, environment, equal, run, skip, slowness

PLUGIN = BUILD / "lib" / "tessera" / "transports" / "mpi.so"
LIMITED = BUILD / "bench" / "transports" / "limited.so"  # makes another transport slower (bench/network)
SPLIT = ("--split-layers",)
REFUSED = (2, 5)  # of the rank that finds that a command can't be run; or, of one that hears of it before it finds it itself
# Ranks may be more than cores, and none is bound to one. `root` may start them, as it may in a container.
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]


def need_mpi():
    if not PLUGIN.exists() or not shutil.which("mpirun"):
        skip("the transport mpi was not built, or there is no mpirun")


def own_lines(text):
    """What ranks wrote, without the lines that mpirun adds when it ends a run. It stops those that have not ended when the first one fails."""
    return [line for line in text.splitlines() if line.startswith(("tessera: ", "failed: ", "step ")) and line != "tessera: stopped by SIGTERM"]


def has_ranks(process):
    """Whether a rank that mpirun started has not ended."""
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == process.pid and state != "Z":
            return True
    return False


def finished(words, **how):
    """What mpirun leaves; None if it hangs although no rank is there any more: once in many runs that end by an error, two threads of PMIx 4.2 wait for
    each other in PMIx_server_finalize."""
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how) as process:
        alone = 0
        while True:
            try:
                out, err = process.communicate(timeout=5)
                return subprocess.CompletedProcess(words, process.returncode, out, err)
            except subprocess.TimeoutExpired:
                alone = 0 if has_ranks(process) else alone + 1
                if alone == 4:
                    process.kill()
                    return None


def ranks(n, command, *arguments, env=None, code=0, options=(), cwd=None):
    """Runs n ranks; mpirun's exit code must be `code`, or one of several, unless that is None."""
    env = env or environment()
    env = dict(env, TESSERA_TRANSPORT_PATH=f"{PLUGIN.parent}:{LIMITED.parent}", LIMITED_TRANSPORT=str(PLUGIN))
    words = [*MPIRUN, *options, "-n", str(n), str(command), *map(str, arguments)]
    done = finished(words, env=env, cwd=cwd) or finished(words, env=env, cwd=cwd)
    assert done, f"mpirun hangs without a rank, and did so again: {words}"
    result = Result(done)
    assert code is None or result.code in (code if isinstance(code, tuple) else (code,)), f"{n} ranks of {command} {arguments}: wanted exit code {code}, got {result}"
    return result


def in_two_folders(folder, *arguments, code=REFUSED):
    """What two ranks say that run the same command, one in folder/a, the other in folder/b, as if these were two hosts with files of the same names."""
    done = ranks(1, COMMAND, *arguments, ":", "-wdir", folder / "b", "-n", "1", COMMAND, *arguments, code=code, cwd=folder / "a")
    return own_lines(done.err)


def differs(said, what):
    """Every line must say that this differs, and what each of the two ranks has."""
    host = re.escape(os.uname().nodename)
    wanted = re.compile(f"{re.escape(what)} differs: rank 0 on {host} has (.+), rank 1 on {host} has (.+); start all ranks with the same$")
    found = [wanted.search(line) for line in said]
    assert said and all(one and one[1] != one[2] for one in found), (what, said)


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


def with_layer(folder, arguments, **layer):
    """The words of two ranks' commands, the second of which runs with the layer that counts OpenCL calls and writes to folder/calls."""
    of_rank = ["env", f"OPENCL_LAYERS={BUILD / 'tests' / 'count_layer.so'}", "COUNT_LAYER_IN=tessera", f"COUNT_LAYER_LOG={folder / 'calls'}",
               *(f"{key}={value}" for key, value in layer.items())]
    return [COMMAND, *arguments], [*of_rank, COMMAND, *arguments]


def remove(*paths):
    """Removes what the next run writes again."""
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def loses_device(folder, out, between, *arguments, call="clEnqueueNDRangeKernel", when="after"):
    """Two ranks run the command, which writes `out`; at a random moment between these parts of the whole, a call of rank 1 fails, the launch of a kernel
    or another one, `before` or `after` it is made. Both must end soon with exit code 4, and what each says must name rank 1. Before that, the command is run
    to build and test kernels, and to count these calls. Where rank 0 gives work to the rank that is free, rank 1 may get too little of it to come to that
    call: then another run has an earlier one fail."""
    arguments = (*arguments, "--deadline", "60")  # so that none ends because no sign of life comes
    calls = folder / "calls"
    for _ in range(2):
        first, second = with_layer(folder, arguments)
        ranks(1, *first, ":", "-n", "1", *second)
        (n,) = (int(line.split()[-1]) for line in calls.read_text().splitlines() if line.startswith(f"calls {call} "))
        remove(calls, out)
    for _ in range(5):
        nth = max(1, int(n * random.uniform(*between)))
        print(f"       {call} {nth} of {n} fails", flush=True)
        with apart_as(folder, *with_layer(folder, arguments, COUNT_LAYER_FAULT=f"{call} {nth} -5 {when}")) as process:
            while process.poll() is None and not (calls.exists() and calls.stat().st_size):
                time.sleep(0.01)
            begun = time.monotonic()
            process.communicate(timeout=600)
            took = time.monotonic() - begun
        codes, said = told(folder, 2)
        if any(codes) or f"{call} {nth}\n" in calls.read_text():
            break
        remove(calls, out)
        n //= 2
    equal(codes, [4, 4], said)
    of_other, own = ([line for line in own_lines(text) if "CL_OUT_OF_RESOURCES" in line] for text in said)
    name = f"rank 1 on {os.uname().nodename}"
    assert own and all(line.startswith(f"tessera: {name}: ") for line in own), said
    assert of_other and all(f"{name} ended: " in line and "rank 0 on" not in line for line in of_other), said
    assert took < 30 * slowness(), took


def apart_as(folder, *commands):
    """Starts a rank for each command. They outlive each other; `told` reads what each said. mpirun may lose the last line of a rank that ends, so each
    writes to a file of its own."""
    keep = ["sh", "-c", '"$@" 2>"$0.$OMPI_COMM_WORLD_RANK"; echo $? >"$0.code.$OMPI_COMM_WORLD_RANK"', folder / "told"]
    words = [word for command in commands for word in (":", "-n", "1", *keep, *command)][1:]
    env = environment(TESSERA_TRANSPORT_PATH=str(PLUGIN.parent))
    return subprocess.Popen([*MPIRUN, "--enable-recovery", *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)


def apart(folder, n, *arguments):
    """The same for n ranks of one command."""
    return apart_as(folder, *[(COMMAND, *arguments)] * n)


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
        most = 30 * slowness()
        os.kill(victim, how)
        sent = time.monotonic()
        while [other for other in running(name) if other != victim] and time.monotonic() - sent < most:
            time.sleep(0.05)
        took = time.monotonic() - sent
        for left in running(name):
            os.kill(left, signal.SIGKILL)
        process.communicate(timeout=60)
    equal(running(name), [])
    assert took < most, took
    codes, said = told(folder, n)
    equal(sorted(codes), [5] * (n - 1) + [137])
    for code, text in zip(codes, said):
        assert code == 137 or [line for line in own_lines(text) if ends in line and " rank " in line], said
