#!/usr/bin/env python3
"""tessera train over several ranks: the same bytes for any number of them, resumed on others; what differs between ranks is named; a rank
that goes away ends all."""

import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

from support.adapter import read, write
from support.command import ALL, BUILD, COMMAND, DEVICE, SOURCE, Result, environment, equal, main, refused, run, slowness
from support.ranks import LIMITED, MPIRUN, PLUGIN, REFUSED, differs, in_two_folders, loses_device, need_mpi, own_lines, ranks
from support.runs import REFERENCE, SMALL, checkpoints, command, every, kept, lines_of_log, make, result, whole

DISK = BUILD / "tests" / "ranks" / "disk.so"
SLOW_NETWORK = {"TESSERA_TRANSPORT_PATH": f"{PLUGIN.parent}:{LIMITED.parent}", "LIMITED_TRANSPORT": str(PLUGIN), "LIMITED_LATENCY_US": "200000"}
EIGHT = ("--set", "gradient_accumulation_steps=8")
ENDLESS = 100000
# Where equal bytes are tested: the tested device, too, if all cases are run.
DEVICES = {"reference": REFERENCE} | ({"tested": ("-d", DEVICE, "-q", "-t", "1")} if ALL and DEVICE != "reference" else {})


def log(out):
    """The lines of the log, without what a clock says."""
    return [{key: value for key, value in line.items() if key not in ("tokens_per_second", "seconds", "waiting")} for line in lines_of_log(out)]


def waiting(out):
    """Which share of its time rank 0 waited for the others, by the log's lines."""
    return [line["waiting"] for line in lines_of_log(out) if "waiting" in line]


def change_layers(file):
    """Another number at the beginning of each array of the layers, which are below a head."""
    arrays = read(file)
    write(file, {name: (shape, [values[0] + (".layer." in name or ".h." in name), *values[1:]]) for name, (shape, values) in arrays.items()})


def change_ends(file):
    """Another number at the end of each array of more than 4096 bytes, of which there is none in a head."""
    arrays = read(file)
    assert any(len(values) > 1024 for _, values in arrays.values()), file
    write(file, {name: (shape, [*values[:-1], values[-1] + (len(values) > 1024)]) for name, (shape, values) in arrays.items()})


def same(folder, n, arguments, steps=3, model="model.safetensors"):
    """n ranks must leave what one process leaves in folder/one."""
    one, out = folder / "one", folder / f"ranks{n}"
    if not one.exists():
        run(*arguments(one, steps))
    ranks(n, COMMAND, *arguments(out, steps))
    assert result(out, steps, model) == result(one, steps, model), f"{n} ranks: other bytes"
    equal(log(out), log(one), f"{n} ranks")
    equal(kept(out), kept(one), f"{n} ranks")
    for path in checkpoints(out):
        whole(path)
        equal(sorted(file.name for file in path.iterdir()), sorted(file.name for file in (one / path.name).iterdir()))


def test_any_number_of_ranks_gives_the_same_bytes(folder):
    model, text = make(folder)
    # the norm is cut down, and a validation has more batches than ranks
    more = (*EIGHT, *every(2), "--set", "eval_steps=2", "--set", "max_grad_norm=0.5", "--set", "eval_batches=5", "--set", "logging_steps=1")
    for n in (2, 4, 8):
        same(folder, n, lambda out, steps: command(model, text, out, steps, *more))
        shares = waiting(folder / f"ranks{n}")
        assert len(shares) == 3 and all(0 < share < 1 for share in shares), shares
    equal(waiting(folder / "one"), [])


def test_the_log_says_how_long_a_step_waits(folder):
    model, text = make(folder)
    out, latency = folder / "out", 0.05  # s; the step itself takes a few ms
    arguments = command(model, text, out, 4, *EIGHT, "--set", "logging_steps=1")
    ranks(2, COMMAND, *arguments, "--transport", "limited", env=dict(environment(), LIMITED_LATENCY_US=str(latency * 1e6)))
    lines = [line for line in lines_of_log(out) if "waiting" in line]
    waited = [line["waiting"] * (line["seconds"] - last["seconds"]) for last, line in zip(lines, lines[1:])]
    # four exchanges a step, one after the other: whether to stop, losses (gradients are on their way meanwhile), squares, values; a rank that
    # comes later than the other waits less
    assert 0.6 * 12 * latency < sum(waited) < 2 * 12 * latency and max(line["waiting"] for line in lines) < 1, lines


def test_parts_of_one_batch_adapters_and_momentum(folder):
    model, text = make(folder)

    def adapters(device, *optimizer):
        more = ("--set", "shards=4", "--set", "lora_rank=2", *optimizer)
        return lambda out, steps: command(model, text, out, steps, *more, device=device)

    for name, device in DEVICES.items():
        for optimizer, settings in (("adamw", ()), ("sgd", ("--set", "optim=sgd", "--set", "momentum=0.9"))):
            place = folder / name / optimizer
            place.mkdir(parents=True)
            for n in (2, 4) if ALL else (4,):
                same(place, n, adapters(device, *settings), model="adapter_model.safetensors")


def test_a_recipe_whose_arrays_are_cut_within(folder):
    _, text = make(folder)
    more = ("--recipe", "char-gpt", *REFERENCE, "--set", "layers=1", "--set", "block_size=8", "--set", "per_device_train_batch_size=1",
            "--set", "gradient_accumulation_steps=4", "--set", "bf16=true", "--set", "eval_batches=2", "--set", "sample_tokens=2",
            *every(2))
    # values that are read in bf16 travel as that: a checkpoint after two steps, and one after another step, have those of all ranks
    same(folder, 4, lambda out, steps: ("train", text, "-o", out, *more, "--set", f"max_steps={steps}"), steps=3)
    equal(result(folder / "ranks4", 2)[1:], result(folder / "one", 2)[1:])


def test_encoders_and_teachers(folder):
    """Masks that are drawn, two stacks with sources of their own, and the logits of a teacher: eight batches an update, dropout, a norm that is cut."""
    model, text = make(folder)
    shutil.copytree(model, folder / "teacher")
    change_layers(folder / "teacher" / "model.safetensors")
    pairs = folder / "pairs.tsv"
    pairs.write_text("".join(f"the sea {i}\tdas Haus {i} {i}\n" for i in range(60)))
    sets = ("layers=1", "hidden_size=16", "heads=2", "ffn=32", "vocab_size=300", "block_size=16", "per_device_train_batch_size=2",
            "gradient_accumulation_steps=8", "dropout=0.1", "max_grad_norm=0.5", "eval_batches=3", "sample_tokens=2", "logging_steps=1")
    tiny = [word for setting in sets for word in ("--set", setting)]

    def recipe(device, name, data, *more):
        return lambda out, steps: ("train", data, "-o", out, "--recipe", name, *device, *tiny, *more, *every(2), "--set", f"max_steps={steps}")

    def taught(device):
        more = (*EIGHT, *every(2), "--set", "max_grad_norm=0.5", "--set", f"distill_from={folder / 'teacher'}")
        return lambda out, steps: command(model, text, out, steps, *more, device=device)

    for where, device in DEVICES.items():
        for name, arguments in (("encoder", recipe(device, "bert-mini", text)),
                                ("stacks", recipe(device, "transformer-base", pairs, "--set", "encoder_layers=1")),
                                ("taught", taught(device))):
            place = folder / where / name
            place.mkdir(parents=True)
            for n in (2, 4, 8) if ALL and device == REFERENCE else (2, 4):
                same(place, n, arguments)
            assert any(line.get("grad_norm", 0) > 0.5 for line in log(place / "one")), f"{name}: no norm is cut"


def test_the_recipe_of_shakespeare_on_the_device(folder):
    if not ALL:
        return
    text = folder / "text.txt"
    text.write_text((SOURCE / "docs" / "training.md").read_text())
    for n in (2, 4, 8):
        same(folder, n, lambda out, steps: ("train", text, "-o", out, "--recipe", "char-gpt", "-d", DEVICE, "-q", "-t", "1", *EIGHT, *every(20), "--set",
                                            f"max_steps={steps}"), steps=60)


def test_the_device(folder):
    model, text = make(folder)
    same(folder, 2, lambda out, steps: command(model, text, out, steps, *EIGHT, device=("-d", DEVICE, "-q")), steps=2)


def test_devices_that_differ_are_told_once(folder):
    if DEVICE == "reference":
        print("       SKIP: it takes another device than the reference")
        return
    model, text = make(folder)
    for n, devices, times in ((4, f"reference,{DEVICE}", 1), (2, "reference", 0)):
        for name, device, env in (("option", ("-d", devices, "-q"), None), ("variable", ("-q",), environment(TESSERA_DEVICE=devices))):
            told = ranks(n, COMMAND, *command(model, text, folder / f"{name}{n}", 1, *EIGHT, device=device), env=env).err
            equal((told.count("the result may depend on the number of ranks"), told.count("rank 0 has the device ")), (times, times), (name, told))


def test_resumed_on_other_numbers_of_ranks(folder):
    model, text = make(folder)
    more = (*EIGHT, *every(1), "--set", "eval_steps=2")
    run(*command(model, text, folder / "one", 4, *more))
    out = folder / "out"
    ranks(4, COMMAND, *command(model, text, out, 1, *more))
    ranks(2, COMMAND, *command(model, text, out, 2, *more, "--resume"))
    run(*command(model, text, out, 3, *more, "--resume"))
    ranks(8, COMMAND, *command(model, text, out, 4, *more, "--resume"))
    equal(result(out, 4), result(folder / "one", 4))


def disk(**facts):
    """The command of a rank whose disk is not as it should be (tests/ranks/disk.c)."""
    return ["env", f"LD_PRELOAD={DISK}", *(f"DISK_{key}={facts[key]}" for key in facts), COMMAND]


def test_a_folder_that_is_not_shared_is_refused_before_the_first_step(folder):
    model, text = make(folder)
    host, arguments = os.uname().nodename, command(model, text, "out", 2, *EIGHT)
    for place in ("a", "b"):
        (folder / place).mkdir()
    # another run in the folder that rank 1 sees under the same name
    run(*command(model, text, "out", 1, *EIGHT), cwd=folder / "b")
    before = {path: path.read_bytes() for path in (folder / "b").rglob("*") if path.is_file()}
    done = ranks(1, COMMAND, *arguments, ":", "-wdir", folder / "b", "-n", "1", COMMAND, *arguments, code=None, cwd=folder / "a")
    said = own_lines(done.err)
    assert done.code in (3, 5) and said, done
    assert all(f"rank 1 on {host} does not see out/.ranks-" in line and f"which rank 0 on {host} has written: OUT must lie in a file system that "
               "all hosts share" in line and "ended: rank" not in line for line in said), said
    assert not (folder / "a" / "out").exists(), "a run that never began left its folder"
    equal({path: path.read_bytes() for path in (folder / "b").rglob("*") if path.is_file()}, before)
    # a folder that only seems to be shared: rank 1 sees what rank 0 writes, and not the other way round
    done = ranks(1, COMMAND, *arguments, ":", "-n", "1", *disk(LOSES=1), *arguments, code=None, cwd=folder / "a")
    said = own_lines(done.err)
    assert done.code in (3, 5) and said, done
    assert all(f"what rank 1 on {host} writes to out/.ranks-" in line and f"does not arrive at rank 0 on {host}" in line for line in said), said
    assert not (folder / "a" / "out").exists(), "a run that never began left its folder"
    ranks(2, COMMAND, *arguments, cwd=folder / "a")
    equal([path.name for path in (folder / "a" / "out").iterdir() if path.name.endswith(".tmp")], [])


def test_what_the_ranks_do_not_agree_on_is_named(folder):
    model, text = make(folder)
    out = folder / "out"
    said = own_lines(ranks(3, COMMAND, *command(model, text, out, 2, *EIGHT), code=REFUSED).err)
    must = "which must be a multiple of the number of ranks; start"
    assert said and all(f"3 ranks: this run has shards=8, {must} 1, 2, 4 or 8, or deal the shards by speed (--balance)" in line for line in said), said
    for n, settings, more in ((2, ["shards=4"], ()), (3, ["shards=4"], ("--balance",)), (8, ["shards=8", "gradient_accumulation_steps=8"], ())):
        # one batch of 4 sequences an update, which shards may cut
        said = own_lines(ranks(n, COMMAND, *command(model, text, out, 2), code=REFUSED).err)
        told = f"this run has shards=1, {must} 1, or give --set {' --set '.join(settings)} to all runs that should give the same bytes" + ", and --balance" * len(more)
        assert said and all(line.endswith(told) for line in said), (told, said)
        ranks(n, COMMAND, *command(model, text, folder / f"told{n}", 2, *[word for setting in settings for word in ("--set", setting)], *more))
    first, kernels = command(model, text, out, 2, *EIGHT), folder / "kernels"
    for other, what in ((command(model, text, out, 2, *EIGHT, "--set", "seed=7"), "seed differs: rank 0 on {0} has 42, rank 1 on {0} has 7"),
                        (command(model, text, out, 2, *EIGHT, "--kernels", "linear=plain"), '--kernels differs: rank 0 on {0} has none, '
                                                                                            'rank 1 on {0} has "linear=plain"'),
                        (command(model, text, out, 2, *EIGHT, "--bundle", kernels), f'--bundle differs: rank 0 on {{0}} has none, '
                                                                                    f'rank 1 on {{0}} has "{kernels}"'),
                        (command(model, text, folder / "b", 2, *EIGHT), f"the folder -o differs: rank 0 on {{0}} has {out}, "
                                                                        f"rank 1 on {{0}} has {folder / 'b'}"),
                        (command(folder / "copy", text, out, 2, *EIGHT), "--model differs: ")):
        if not (folder / "copy").exists():
            shutil.copytree(model, folder / "copy")
            (folder / "copy" / "config.json").write_text((model / "config.json").read_text() + "\n")
        said = own_lines(ranks(1, COMMAND, *first, ":", "-n", "1", COMMAND, *other, code=REFUSED).err)
        assert said and all(what.format(os.uname().nodename) in line for line in said), (what, said)
    assert not out.exists(), "a run that never began left its folder"


def test_files_that_differ_between_hosts_are_named(folder):
    """Two ranks run one command on files of the same names, one of which is another file for rank 1."""
    for place in (folder / "a", folder / "b"):
        place.mkdir()
        make(place)
        shutil.copytree(place / "gpt2-tiny", place / "teacher")
        shutil.copytree(SOURCE / "tests" / "golden" / "encoders" / "classify", place / "labels")
        (place / "labelled.tsv").write_text("".join(f"the cat sat on {i}\t{('good', 'bad', 'so so')[i % 3]}\n" for i in range(90)))
        shutil.copy(SOURCE / "recipes" / "char-gpt.json", place / "recipe.json")
    other, out = folder / "b", folder / "out"
    trained = ("train", "text.txt", "-o", out, *REFERENCE, *SMALL, *EIGHT, "--set", "max_steps=1")
    of_model = (*trained, "-m", "gpt2-tiny")
    head = ("train", "labelled.tsv", "-o", out, *REFERENCE, *SMALL, *EIGHT, "--set", "max_steps=1", "-m", "labels", "--head-only")

    def with_more(path, arguments, what):
        """The file has another line end for rank 1."""
        held = (other / path).read_bytes()
        (other / path).write_bytes(held + b"\n")
        differs(in_two_folders(folder, *arguments), what)
        (other / path).write_bytes(held)
        assert not out.exists(), "a run that never began left its folder"

    with_more("recipe.json", (*trained, "--recipe", "recipe.json"), "--recipe")
    with_more("text.txt", of_model, "the identity of the data")
    for name, arguments, what in (("gpt2-tiny", of_model, "the SHA-256 of the weights"),
                                  ("gpt2-tiny", (*of_model, "--set", "lora_rank=2"), "the hash of the stored weights of the model"),
                                  ("labels", head, "the hash of the stored weights of the model"),
                                  ("teacher", (*of_model, "--set", "distill_from=teacher"), "the hash of the stored weights of the model in distill_from"),
                                  ("teacher", (*of_model, "--set", "kl_to=teacher", "--set", "kl_weight=0.1"), "the hash of the stored weights of the model in kl_to")):
        file = other / name / "model.safetensors"
        held = file.read_bytes()
        change_ends(file)
        differs(in_two_folders(folder, *arguments), what)
        file.write_bytes(held)
        assert not out.exists(), "a run that never began left its folder"
    for name, arguments, what in (("gpt2-tiny/added_tokens.json", of_model, "added_tokens.json of the model"),
                                  ("gpt2-tiny/spiece.model", of_model, "spiece.model of the model"),
                                  ("teacher/chat_template.jinja", (*of_model, "--set", "distill_from=teacher"),
                                   "chat_template.jinja of the model in distill_from")):
        file = other / name
        file.write_text("{}")  # rank 0 has no such file
        said = in_two_folders(folder, *arguments)
        differs(said, what)
        assert all(" has none, rank 1 " in line and f"{file.name} with SHA-256 " in line for line in said), said
        file.unlink()
        assert not out.exists(), "a run that never began left its folder"


def test_an_error_of_one_rank_is_told_by_all(folder):
    model, text = make(folder)
    (folder / "out").mkdir()
    (folder / "out" / "mine").write_text("mine")
    result = ranks(2, COMMAND, *command(model, text, folder / "out", 2, *EIGHT), code=None)
    said = own_lines(result.err)
    # mpirun gives the exit code of the rank that ends first, and may then end the other before it has said anything
    assert result.code in (3, 5) and said and all(line.endswith("is not empty; give the name of a new folder") for line in said), result


def test_ranks_that_mpi_does_not_join_are_refused(folder):
    """The launcher of another MPI says how many there are; each would be rank 0 of 1, and all would do the whole."""
    model, text = make(folder)
    out = folder / "out"
    for variable in ("SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"):
        env = environment(**{variable: 2}, TESSERA_TRANSPORT_PATH=PLUGIN.parent)
        refused(5, "the launcher started 2 processes, but MPI joins only this one", *command(model, text, out, 1), env=env)
        assert not out.exists(), "a run that never began left its folder"
    # srun sets this one for a batch script, too, which runs once
    run(*command(model, text, folder / "batch", 1), env=environment(SLURM_NTASKS=2, TESSERA_TRANSPORT_PATH=PLUGIN.parent))
    for transport in ("none", "mpi"):
        run(*command(model, text, folder / transport, 1, "--transport", transport), env=env)


def start(*words, extra=None):
    """Starts ranks; mpirun's words follow -n."""
    env = environment(TESSERA_TRANSPORT_PATH=PLUGIN.parent) | (extra or {})
    return subprocess.Popen([*MPIRUN, "-n", *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)


def begin(folder, n, *more, extra=None, rank=None):
    """Starts an endless run that saves at each step, and waits until it has begun. `rank`: the command of the last rank."""
    model, text = make(folder)
    out = folder / "out"
    arguments = command(model, text, out, ENDLESS, *EIGHT, *every(1), "--set", "eval_steps=1000", "--set", "save_total_limit=3", *more)
    words = [str(n - 1), COMMAND, *arguments, ":", "-n", "1", *rank, *arguments] if rank else [str(n), COMMAND, *arguments]
    process = start(*words, extra=extra)
    while process.poll() is None and len(checkpoints(out) if out.is_dir() else []) < 3:
        time.sleep(0.01)
    assert process.poll() is None, process.communicate()
    return process, [path for path in arguments if path == out][0]


def pids_of(out):
    """{rank: process} of the ranks that write to this folder."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words, env = (path / "cmdline").read_bytes().split(b"\0"), (path / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0] == COMMAND.encode() and str(out).encode() in words:
            found[int(next(text for text in env if text.startswith(b"OMPI_COMM_WORLD_RANK=")).split(b"=")[1])] = int(path.name)
    return found


def ends(process, out):
    done = Result(subprocess.CompletedProcess([], None, *process.communicate()))
    done.code = process.returncode
    equal(pids_of(out), {}, "a process was left behind")
    return done


def goes_on(folder, out, n):
    """The run must go on from its last checkpoint, on another number of ranks."""
    last = int(checkpoints(out)[-1].name[11:])
    ranks(n, COMMAND, "train", "-o", out, "--resume", *REFERENCE, "--set", f"max_steps={last + 1}")
    equal(int(checkpoints(out)[-1].name[11:]), last + 1)


def test_a_rank_that_is_stopped_or_killed_ends_the_run(folder):
    rng = random.Random(os.getpid())
    for number, rank, other in ((signal.SIGSTOP, 1, 1), (signal.SIGSTOP, 0, 4), (signal.SIGKILL, 1, 2)):
        place = folder / f"{number.name}{rank}"
        place.mkdir()
        process, out = begin(place, 2, "--deadline", "2")
        time.sleep(rng.random() * 0.3)  # also while a checkpoint is written
        os.kill(pids_of(out)[rank], number)
        begun = time.monotonic()
        done = ends(process, out)
        assert time.monotonic() - begun < 30 * slowness(), "too late"
        if number == signal.SIGSTOP:
            equal(done.code, 5, done)
            said = [line for line in own_lines(done.err) if "gave no sign of life" in line]
            assert said and all(f"rank {rank} on {os.uname().nodename} gave no sign of life for 2 s: the run ends" in line for line in said), done
        else:
            assert done.code != 0 and f"rank {rank}" in done.err, done
        goes_on(place, out, other)


def test_a_rank_that_loses_its_device_ends_the_run(folder):
    """The run goes on from its last checkpoint."""
    if DEVICE == "reference":
        print("       SKIP: the layer that fails is one of OpenCL")
        return
    model, text = make(folder)
    # half of the launches are before the first step; most reads are of gradients, and of what checkpoints hold
    for call, when, between in (("clEnqueueNDRangeKernel", "after", (0.65, 0.9)), ("clEnqueueReadBuffer", "before", (0.4, 0.8))):
        place = folder / call
        place.mkdir()
        out = place / "out"
        loses_device(place, out, between, *command(model, text, out, 10, *EIGHT, *every(1), device=("-d", DEVICE, "-q")), call=call, when=when)
        equal(pids_of(out), {}, "a process was left behind")
        last = int(checkpoints(out)[-1].name[11:])
        assert 0 < last < 10, last
        ranks(4, COMMAND, *command(model, text, out, last + 1, *EIGHT, *every(1), "--resume", device=("-d", DEVICE, "-q")))
        equal(int(checkpoints(out)[-1].name[11:]), last + 1)


def test_killed_and_resumed_on_other_numbers_of_ranks(folder):
    model, text = make(folder)
    out, rng = folder / "out", random.Random(os.getpid())
    going = (*EIGHT, *every(2), "--set", "eval_steps=10", "--set", "save_total_limit=3")
    n = 0
    for _ in range(20 if ALL else 3):
        n = rng.choice([other for other in (1, 2, 4) if other != n])
        process = start(n, COMMAND, *command(model, text, out, ENDLESS, *going, "--resume"))
        while len(pids_of(out)) < n:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 1.5))  # also before the first step
        os.kill(rng.choice(list(pids_of(out).values())), signal.SIGKILL)
        done = ends(process, out)
        assert done.code != 0, done
        written = checkpoints(out) if out.is_dir() else []
        left = [path for path in written if (path / "manifest.json").exists()]
        assert len(written) - len(left) <= 1, "more than the one whose removal had begun, which starts with its manifest"
        for path in left:
            whole(path)
    found = checkpoints(out) if out.is_dir() else []
    last = 1 + (int(found[-1].name[11:]) if found else 0)
    ranks(rng.choice((2, 4)), COMMAND, *command(model, text, out, last, *going, "--resume"))
    run(*command(model, text, folder / "one", last, *going))
    equal(result(out, last), result(folder / "one", last))
    equal(*([line for line in log(place) if "run" not in line] for place in (out, folder / "one")))
    equal(list(out.glob("*.tmp")), [], "something is left")


def until_a_checkpoint_is_written(process, out):
    while not any(path.exists() for path in out.glob("checkpoint-*.tmp/state.safetensors")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.001)


def test_a_rank_that_is_killed_or_stopped_while_a_checkpoint_is_written(folder):
    # on a slow network a checkpoint takes a second: its files lie there unfinished, until all ranks have said that they have written their slices
    for number, rank, other in ((signal.SIGKILL, 1, 4), (signal.SIGKILL, 0, 1), (signal.SIGSTOP, 1, 2)):
        place = folder / f"{number.name}{rank}"
        place.mkdir()
        deadline = ("--deadline", "2") if number == signal.SIGSTOP else ()
        process, out = begin(place, 2, "--transport", "limited", *deadline, extra=SLOW_NETWORK)
        before = checkpoints(out)
        until_a_checkpoint_is_written(process, out)
        os.kill(pids_of(out)[rank], number)
        done = ends(process, out)
        assert done.code != 0 and (number == signal.SIGKILL or f"rank {rank} on {os.uname().nodename} gave no sign of life for 2 s" in done.err), done
        found = checkpoints(out)
        assert found[-1] == before[-1] or before[-1] in found, (before, found)
        whole(found[-1])
        goes_on(place, out, other)
        last = int(checkpoints(out)[-1].name[11:])
        run(*command(place / "gpt2-tiny", place / "text.txt", place / "one", last, *EIGHT, *every(1)))
        equal(kept(out)[-1]["files"], kept(place / "one")[-1]["files"])
        equal(list(out.glob("*.tmp")), [], "an unfinished checkpoint was left")


def test_a_signal_to_one_rank_saves_and_ends_all(folder):
    for rank, other, number in ((1, 4, signal.SIGTERM), (0, 1, signal.SIGINT)):
        place = folder / f"rank{rank}"
        place.mkdir()
        process, out = begin(place, 2, "--transport", "limited", extra=SLOW_NETWORK) if rank == 0 else begin(place, 2)
        if rank == 0:  # it tells its caller that a checkpoint was written, and so learns of the signal when the others don't
            until_a_checkpoint_is_written(process, out)
        os.kill(pids_of(out)[rank], number)
        done = ends(process, out)
        equal((done.code, done.err.count("and --resume goes on from it")), (128 + number, 1), done)
        goes_on(place, out, other)


def dealt(out):
    """How many shards each rank had, deal by deal."""
    return [line["dealt"] for line in lines_of_log(out) if "dealt" in line]


def test_shards_are_dealt_by_speed_and_change_no_byte(folder):
    model, text = make(folder)
    steps, more = 16, (*EIGHT, *every(4), "--set", "eval_steps=8")
    one = folder / "one"
    run(*command(model, text, one, steps, *more))
    for n in (2, 3, 4):
        out = folder / f"ranks{n}"
        arguments = command(model, text, out, steps, *more, "--balance")
        # the last rank reads so slowly that another does several of its shards meanwhile
        ranks(n - 1, COMMAND, *arguments, ":", "-n", "1", *disk(SLOW=6), *arguments)
        deals = dealt(out)
        equal(deals[0], {2: [4, 4], 3: [3, 3, 2], 4: [2, 2, 2, 2]}[n])
        assert len(deals) > 1 and all(sum(counts) == 8 and min(counts) >= 1 for counts in deals), deals
        assert deals[-1][-1] == min(deals[-1]) < deals[0][-1], deals
        measured = [line["shard_seconds"] for line in lines_of_log(out) if "shard_seconds" in line]
        assert all(len(seconds) == n and min(seconds) > 0 for seconds in measured) and measured[0][-1] == max(measured[0]), measured
        equal(result(out, steps), result(one, steps))
        equal([line for line in log(out) if "dealt" not in line], log(one))
        equal(kept(out), kept(one))


def test_shards_are_dealt_anew_where_speeds_change(folder):
    slow = folder / "slow"
    slow.touch()
    process, out = begin(folder, 2, "--balance", rank=disk(SLOW=6, SLOW_WHILE=slow))

    def until(true, what):
        end = time.monotonic() + 120
        while not true(dealt(out)[-1]):
            assert process.poll() is None and time.monotonic() < end, (what, dealt(out))
            time.sleep(0.05)
    until(lambda counts: counts[1] <= 2, "the slow rank keeps its shards")
    slow.unlink()
    until(lambda counts: counts[1] >= 3, "the rank is fast again and gets no shards")
    os.kill(pids_of(out)[0], signal.SIGINT)
    ends(process, out)
    last = int(checkpoints(out)[-1].name[11:])
    run(*command(folder / "gpt2-tiny", folder / "text.txt", folder / "one", last, *EIGHT, "--set", "save_steps=0"))
    equal(kept(out)[-1]["files"], kept(folder / "one")[-1]["files"])


def test_more_ranks_than_shards_are_refused(folder):
    model, text = make(folder)
    out = folder / "out"
    arguments = command(model, text, out, 2, *EIGHT, "--set", "shards=2")
    said = own_lines(ranks(3, COMMAND, *arguments, "--balance", code=REFUSED).err)
    sentence = "3 ranks: this run has shards=2, and each rank needs at least one; start fewer ranks, or give --set shards=8 to all runs that should give the same bytes"
    assert said and all(sentence in line for line in said), said
    said = own_lines(ranks(1, COMMAND, *arguments, "--balance", ":", "-n", "1", COMMAND, *arguments, code=REFUSED).err)
    assert said and all(f"--balance differs: rank 0 on {os.uname().nodename} has given, rank 1 on" in line for line in said), said
    assert not out.exists(), "a run that never began left its folder"
    run(*arguments, "--balance")  # a process that is alone has nothing to deal
    equal(dealt(out), [])


need_mpi()
main(globals())
