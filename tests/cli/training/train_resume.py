#!/usr/bin/env python3
"""tessera train --resume: a resumed run makes every later save too, whatever save_total_limit removes, even if OUT is moved, and whatever
happens meanwhile to the folders and files that the run began with. Each resumed run makes at least limit + 2 saves, so that the checkpoint from
which it was resumed is gone at its end.
"""

import json
import random
import shutil
import signal
import time

from support.command import ALL, GOLDEN, SOURCE, change_json, copy_model, equal, main, refused, run, start
from support.runs import REFERENCE, checkpoints, command, every, lines_of_log, make, result, steps_in, whole

LIMITS = (1, 2, 3)
ENDLESS = 100000
CODES = {signal.SIGKILL: -signal.SIGKILL, signal.SIGINT: 130, signal.SIGTERM: 143}
PATIENCE = 120


def limited(model, text, out, steps, limit, *more):
    return command(model, text, out, steps, *every(1), "--set", f"save_total_limit={limit}", *more)


def newest(out):
    kept = checkpoints(out) if out.is_dir() else []
    return int(kept[-1].name[11:]) if kept else 0


def until_saved(process, out, step):
    """Waits for a checkpoint of this step or a later one."""
    end = time.monotonic() + PATIENCE
    while newest(out) < step:
        if process.poll() is not None:
            raise AssertionError(f"the run ended with {process.returncode} at step {newest(out)}: {process.communicate()[1].decode()}")
        assert time.monotonic() < end, f"no checkpoint of step {step}: {newest(out)}"
        time.sleep(0.002)


def stop(process, number):
    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE)
    equal(process.returncode, CODES[number], err)


def stopped(out, saves, number, *arguments):
    """A run that makes this many more saves, and is then stopped by a signal."""
    process = start(*arguments)
    try:
        until_saved(process, out, newest(out) + saves)
        stop(process, number)
    finally:
        process.kill()
        process.communicate()


def kept(out, limit):
    """The checkpoints must be complete, and be the newest, as many as the limit allows, besides the best."""
    found = checkpoints(out)
    for path in found:
        whole(path)
    best = json.loads((found[-1] / "manifest.json").read_text())["best_step"]
    steps = [int(path.name[11:]) for path in found]
    wanted = range(max(1, steps[-1] - limit + 1) if limit else 1, steps[-1] + 1)
    equal(steps, sorted({*wanted, best} if best else wanted), f"limit {limit}, the best {best}")
    return best


def finished(folder, model, text, out, limit, *more):
    """Continues for limit + 3 more saves; everything must be the same as in a run that was never stopped."""
    steps = newest(out) + limit + 3
    run(*limited(model, text, out, steps, limit, "--resume", *more))
    kept(out, limit)
    one = folder / f"one-{steps}"
    if not one.exists():
        run(*command(model, text, one, steps, *every(0), *more))
    assert result(one, steps) == result(out, steps), f"{out.name}: the resumed run gave other bytes"
    for path in model.iterdir():
        if path.suffix == ".json":
            assert (out / path.name).read_bytes() == (one / path.name).read_bytes(), path.name
    return steps


def stopped_and_finished(folder, number):
    model, text = make(folder)
    for limit in LIMITS:
        out = folder / f"limit{limit}"
        stopped(out, limit + 2, number, *limited(model, text, out, ENDLESS, limit))
        finished(folder, model, text, out, limit)


def test_killed(folder):
    stopped_and_finished(folder, signal.SIGKILL)


def test_ctrl_c(folder):
    stopped_and_finished(folder, signal.SIGINT)


def test_sigterm(folder):
    stopped_and_finished(folder, signal.SIGTERM)


def test_a_resumed_run_is_resumed(folder):
    model, text = make(folder)
    rng = random.Random(3)
    for limit in LIMITS:
        out = folder / f"limit{limit}"
        for _ in range(20 if ALL else 3):
            process = start(*limited(model, text, out, ENDLESS, limit, "--resume"))
            try:
                until_saved(process, out, newest(out) + limit + 2)
                time.sleep(rng.uniform(0, 0.02))
                stop(process, rng.choice(list(CODES)))
            finally:
                process.kill()
                process.communicate()
        steps = finished(folder, model, text, out, limit)
        equal(steps_in(lines_of_log(out))[-1], steps)


def test_a_finished_run_is_made_longer(folder):
    model, text = make(folder)
    for limit in (0, 1, 2):
        out = folder / f"limit{limit}"
        run(*limited(model, text, out, 3, limit))
        finished(folder, model, text, out, limit)


def test_a_finished_folder_may_be_edited(folder):
    """Except its weights, which it shares with a checkpoint, it has files of its own: what is written into them leaves the checkpoint whole."""
    model, text = make(folder)
    out = folder / "out"
    run(*limited(model, text, out, 2, 0))
    last = out / "checkpoint-2"
    own = [path.name for path in last.iterdir() if path.name not in ("manifest.json", "state.safetensors", "model.safetensors")]
    assert "config.json" in own and "tokenizer.json" in own, own
    for name in own:
        equal((out / name).read_bytes(), (last / name).read_bytes(), name)
        with open(out / name, "a", encoding="utf-8") as file:
            file.write(" ")
    assert (out / "model.safetensors").samefile(last / "model.safetensors"), "the weights are there twice"
    told = run(*limited(model, text, out, 4, 0, "--resume"))
    equal("warning" in told.err, False, told)
    equal([path.name for path in checkpoints(out)], [f"checkpoint-{step}" for step in range(1, 5)])
    kept(out, 0)
    run(*command(model, text, folder / "one", 4, *every(0)))
    assert result(folder / "one", 4) == result(out, 4)


def test_a_folder_that_was_moved(folder):
    model, text = make(folder)
    out = folder / "out"
    stopped(out, 4, signal.SIGKILL, *limited(model, text, out, ENDLESS, 2))
    out = out.rename(folder / "elsewhere")
    finished(folder, model, text, out, 2)
    assert not (folder / "out").exists()


def test_adapters(folder):
    model, text = make(folder)
    lora = ("--set", "lora_rank=2")
    for limit in LIMITS:
        out = folder / f"limit{limit}"
        stopped(out, limit + 2, signal.SIGKILL, *limited(model, text, out, ENDLESS, limit, *lora))
        steps = newest(out) + limit + 3
        run(*limited(model, text, out, steps, limit, "--resume", *lora))
        run(*command(model, text, folder / f"one{limit}", steps, *every(0), *lora))
        kept(out, limit)
        name = "adapter_model.safetensors"
        assert result(folder / f"one{limit}", steps, name) == result(out, steps, name)


def test_from_scratch(folder):
    _, text = make(folder)
    tiny = ("--set", "layers=1", "--set", "hidden_size=8", "--set", "heads=2", "--set", "block_size=8", "--set", "lr_scheduler_type=constant", "--set",
            "eval_batches=1", "--set", "sample_tokens=0")
    def made(out, steps, *more):
        return ("train", text, "-o", out, "--recipe", "char-gpt", "-d", "reference", "-q", *tiny, "--set", f"max_steps={steps}", *more)
    for limit in LIMITS:
        out = folder / f"limit{limit}"
        more = (*every(1), "--set", f"save_total_limit={limit}")
        stopped(out, limit + 2, signal.SIGKILL, *made(out, ENDLESS, *more))
        steps = newest(out) + limit + 3
        run(*made(out, steps, *more, "--resume"))
        run(*made(folder / f"one{limit}", steps, *every(0)))
        assert result(folder / f"one{limit}", steps) == result(out, steps)
        names = [sorted(p.name for p in path.iterdir() if p.is_file()) for path in (out, folder / f"one{limit}")]
        equal(*names)


def test_a_recipe_that_is_gone(folder):
    """A run that has begun needs its recipe only where it is given again, or where no other file has the model."""
    _, text = make(folder)
    recipe, out = folder / "own.json", folder / "out"
    shutil.copy(SOURCE / "recipes" / "char-gpt.json", recipe)
    tiny = ("--set", "layers=1", "--set", "hidden_size=8", "--set", "heads=2", "--set", "block_size=8", "--set", "lr_scheduler_type=constant", "--set",
            "eval_batches=1", "--set", "sample_tokens=0", *every(1))
    def made(out, steps):
        return ("train", text, "-o", out, "--recipe", recipe, *REFERENCE, *tiny, "--set", f"max_steps={steps}")
    run(*made(folder / "one", 4))
    run(*made(out, 2))
    longer = ("train", "-o", out, "--resume", *REFERENCE, "--set", "max_steps=4")
    recipe.unlink()
    refused(3, "own.json", *longer, "--recipe", recipe)
    refused(3, "own.json", *longer, "--set", "layers=1")
    run(*longer)
    assert result(folder / "one", 4) == result(out, 4)
    for path in checkpoints(out):
        (path / "manifest.json").unlink()
    refused(3, "own.json", *longer, lines=None)


def test_a_resume_that_is_refused_changes_nothing(folder):
    model, text = make(folder)
    out, other = folder / "out", folder / "other.txt"
    run(*command(model, text, out, 2, *every(1)))
    other.write_text("a poem about the sea " * 400)
    before = (out / "run.json").read_bytes()
    refused(3, "other.txt has changed since the checkpoint", "train", other, "-o", out, "--resume", *REFERENCE, "--set", "max_steps=3")
    equal((out / "run.json").read_bytes(), before)
    run("train", "-o", out, "--resume", *REFERENCE, "--set", "max_steps=3")
    equal(json.loads((out / "run.json").read_text())["settings"]["max_steps"], 3)


def other_weights(model):
    """Writes other weights in place of the model's, and returns its own."""
    path = model / "model.safetensors"
    own = path.read_bytes()
    path.write_bytes(own[:-2] + bytes((own[-2] ^ 1, own[-1])))  # the last number
    return own


def test_another_base_or_teacher(folder):
    """Neither is in the checkpoints, whose manifests have the hashes of both. Those of earlier versions lack them."""
    model, text = make(folder)
    teacher = copy_model(GOLDEN / "gpt2-tiny", folder / "teacher")
    for read, more in (model, ("lora_rank=2",)), (teacher, (f"distill_from={teacher}",)), (teacher, (f"kl_to={teacher}", "lora_rank=2")):
        out, settings = folder / f"out-{len(list(folder.iterdir()))}", [word for pair in more for word in ("--set", pair)]
        run(*command(model, text, out, 2, *every(1), *settings))
        longer = ("train", "-o", out, "--resume", *REFERENCE, "--set")
        own = other_weights(read)
        refused(3, f"the weights of {read} have changed since the checkpoint", *longer, "max_steps=3")
        equal(newest(out), 2)
        (read / "model.safetensors").write_bytes(own)
        run(*longer, "max_steps=3")
        change_json(out / "checkpoint-3" / "manifest.json", base=None, teacher=None)
        other_weights(read)
        run(*longer, "max_steps=4")
        (read / "model.safetensors").write_bytes(own)
        equal(newest(out), 4)


def test_the_folders_of_modules(folder):
    """What modules.json names goes into each checkpoint, and leaves with it; so do chat templates for other uses."""
    model, text = copy_model(GOLDEN.parent / "encoders" / "classify", folder / "classify"), folder / "moods.csv"
    labels = json.loads((model / "config.json").read_text())["id2label"].values()
    text.write_text("text,label\n" + "".join(f"the sea is good,{label}\n" for label in labels) * 10)
    (model / "modules.json").write_text(json.dumps([{"type": "mine.Model", "path": ""}, {"type": "mine.Pooling", "path": "1_Pooling"}]))
    (model / "1_Pooling").mkdir()
    (model / "1_Pooling" / "config.json").write_text("{}")
    (model / "additional_chat_templates").mkdir()
    (model / "additional_chat_templates" / "tool_use.jinja").write_text("{{ tools }}")
    out = folder / "out"
    for steps, resumed in ((3, ()), (6, ("--resume",))):
        run(*limited(model, text, out, steps, 1, "--task", "classify", *resumed))
        kept(out, 1)
        for place in (out, *checkpoints(out)):
            equal((place / "1_Pooling" / "config.json").read_text(), "{}", place)
            equal((place / "additional_chat_templates" / "tool_use.jinja").read_text(), "{{ tools }}", place)
        equal([path.name for path in out.glob("checkpoint-*") if path not in checkpoints(out)], [])


def test_the_best_stays(folder):
    """The rate is so high that the first validations are the best: their checkpoint is kept despite a limit of 1, and is the result."""
    model, text = make(folder)
    out = folder / "out"
    more = ("--set", "load_best_model_at_end=true", "--set", "learning_rate=0.3", "--set", "eval_steps=1")
    stopped(out, 4, signal.SIGKILL, *limited(model, text, out, ENDLESS, 1, *more))
    steps = newest(out) + 4
    run(*limited(model, text, out, steps, 1, "--resume", *more))
    seen = [(line["eval_loss"], line["step"]) for line in lines_of_log(out) if "eval_loss" in line]
    best = min(seen)[1]
    assert best < steps - 1, f"the best of {seen} must not be among the last"
    equal(kept(out, 1), best)
    assert (out / "model.safetensors").read_bytes() == (out / f"checkpoint-{best}" / "model.safetensors").read_bytes(), "not the best"


def test_one_that_can_not_be_removed(folder):
    """An old checkpoint that cannot be removed is reported once, and does not end the run."""
    model, text = make(folder)
    out = folder / "out"
    stopped(out, 2, signal.SIGKILL, *limited(model, text, out, ENDLESS, 0))
    shutil.rmtree(out / "checkpoint-1")
    (out / "checkpoint-1").write_text("a file of the user's")
    told = run(*limited(model, text, out, newest(out) + 4, 1, "--resume"))
    equal(told.err.count("warning: "), 1, told)
    assert "checkpoint-1/" in told.err and "an old checkpoint is left where it is" in told.err, told


def going_while(folder, change, *more, limit=2):
    """The saves that a run makes after `change` must be the same as without the change."""
    model, text = make(folder)
    out = folder / "out"
    process = start(*limited(model, text, out, ENDLESS, limit, *more))
    try:
        until_saved(process, out, 2)
        before = {path.name: path.read_bytes() for path in checkpoints(out)[-1].iterdir() if path.suffix == ".json"}
        change(model, text, out)
        until_saved(process, out, newest(out) + limit + 3)
        stop(process, signal.SIGINT)
    finally:
        process.kill()
        process.communicate()
    kept(out, limit)
    last = checkpoints(out)[-1]
    for name, data in before.items():
        if name != "manifest.json":
            assert (last / name).read_bytes() == data, f"{name} of a later checkpoint differs"
    return last


def test_its_model_is_renamed_meanwhile(folder):
    going_while(folder, lambda model, text, out: model.rename(model.parent / "renamed"))


def test_its_model_is_edited_meanwhile(folder):
    def edit(model, text, out):
        change_json(model / "config.json", n_head=1, eos_token_id=3)
        (model / "tokenizer.json").write_text("{")
    going_while(folder, edit)


def test_its_model_is_removed_meanwhile(folder):
    def remove(model, text, out):
        for path in model.iterdir():
            path.unlink()
    last = going_while(folder, remove)
    run("generate", "-m", last, "-d", "reference", "-q", "-p", "write a", "-n", "3", "--temp", "0")


def test_its_text_is_removed_meanwhile(folder):
    going_while(folder, lambda model, text, out: text.unlink())


def test_its_tokens_are_removed_meanwhile(folder):
    def remove(model, text, out):
        for path in (out / "data").iterdir():
            path.unlink()
        (out / "data").rmdir()
    going_while(folder, remove)


def test_its_teacher_is_removed_meanwhile(folder):
    teacher = copy_model(GOLDEN / "gpt2-tiny", folder / "teacher")
    def remove(model, text, out):
        for path in teacher.iterdir():
            path.unlink()
    going_while(folder, remove, "--set", f"distill_from={teacher}")


def test_what_does_not_learn_is_never_another_model_s(folder):
    """Only the head is trained; the rest of each checkpoint is copied from the model's file, which is meanwhile overwritten in place."""
    model = copy_model(GOLDEN.parent / "encoders" / "classify", folder / "classify")
    labels = list(json.loads((model / "config.json").read_text())["id2label"].values())
    (folder / "moods.csv").write_text("text,label\n" + "".join(f"the sea is good,{label}\n" for label in labels) * 10)
    out = folder / "out"
    process = start("train", folder / "moods.csv", "-m", model, "-o", out, *REFERENCE, "--task", "classify", "--head-only", "--set", "block_size=8", "--set",
                    f"max_steps={ENDLESS}", *every(1))
    try:
        until_saved(process, out, 2)
        equal((out / "start").exists(), False, "the model's own folder must be read")
        path = model / "model.safetensors"
        data = bytearray(path.read_bytes())
        data[-4000:] = bytes(4000)
        path.write_bytes(data)  # the same file, not a new one with its name
        _, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.communicate()
    equal(process.returncode, 3, err)
    assert b"model.safetensors was changed since" in err and b"the last good checkpoint is" in err, err
    whole(checkpoints(out)[-1])


if __name__ == "__main__":
    main(globals())
