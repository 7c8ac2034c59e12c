#!/usr/bin/env python3
"""Models whose layers are split over ranks: the bytes of one process, on ranks of which none could hold the model; a rank that goes away ends
all."""

import json
import os
import random
import signal

from support import words
from support.command import BUILD, COMMAND, DEVICE, SOURCE, environment, equal, has_device, main, run
from support.ranks import SPLIT, apart, broken_at, need_mpi, rank_goes_away, ranks, refused_by_all, same, told

GOLDEN = SOURCE / "tests" / "golden"
ENCODERS = GOLDEN / "encoders"
REFERENCE = ("-d", "reference", "-q")
WORDS = "the cat sat on a mat and said hello world good bad film tall tree".split()


def lines(folder, n, longest=14):
    draw = random.Random(n)
    path = folder / f"lines{n}"
    path.write_text("".join(" ".join(draw.choices(WORDS, k=draw.randint(1, longest))) + "\n" for _ in range(n)))
    return path


def test_generate(_):
    few = ("generate", *REFERENCE, "-n", "4", "--seed", "7")
    same(*few, "--temp", "0.9", "To be", "or not", "", "to be", together=SPLIT, numbers=(2, 3))
    same(*few, "--json", "--logprobs", "2", "KING", "--ids", "1,2,3", together=SPLIT, numbers=(2,))
    same(*few, "--num-beams", "2", "--n-best", "2", "To be", "or not", together=SPLIT, numbers=(2,))


def test_prompts_in_lines(folder):
    text = lines(folder, 5, 6)
    same("generate", *REFERENCE, "-n", "2", "--temp", "0", "--lines", "-f", text, together=SPLIT, numbers=(2,))


def test_several_parts_of_prompts_are_under_way(_):
    """Two prompts of unequal length run in parts: results of some are there while others are under way."""
    prompts = [argument for n in (200, 500) for argument in ("--ids", ",".join(str(3 + i % 90) for i in range(n)))]
    same("generate", "-m", "shape:tiny", *REFERENCE, *prompts, "-n", "2", "--temp", "0", "--print-ids", together=SPLIT, numbers=(2,))


def test_evaluate(folder):
    text = folder / "text"
    text.write_text((SOURCE / "README.md").read_text()[:90])
    same("evaluate", *REFERENCE, "--perplexity", text, "--window", "16", "--stride", "10", "-c", "16", but="time", together=SPLIT, numbers=(2,))


def test_evaluate_to_the_last_bit(folder):
    """In one process, norms and residuals are joined to the products; where the layers are divided, they are not."""
    model, _ = words.model(folder, "mistral")
    text = folder / "text"
    text.write_text(" ".join(random.Random(1).choices(words.WORDS, k=120)))
    same("evaluate", "-m", model, *REFERENCE, "--perplexity", text, "--window", "16", "--stride", "10", "-c", "16", "--json", but=' "seconds"', together=SPLIT,
         numbers=(2,))


def test_encoders(folder):
    text = lines(folder, 60)
    same("embed", "-m", ENCODERS / "sentence", *REFERENCE, text, together=SPLIT, numbers=(2,))
    same("classify", "-m", ENCODERS / "classify", *REFERENCE, "--json", "-f", text, together=SPLIT, numbers=(2,))
    labelled = folder / "words"
    labelled.write_text("".join(f"{word} {'O' if len(word) < 4 else 'B-PER'}\n" if word else "\n" for line in text.read_text().splitlines()
                                for word in (*line.split(), "")))
    same("evaluate", "-m", ENCODERS / "tokens", *REFERENCE, "--words", labelled, together=SPLIT, numbers=(2,))


def test_the_device(_):
    same("generate", "-d", DEVICE, "-q", "-t", "1", "-n", "3", "--temp", "0", "To be", together=SPLIT, numbers=(2,))


def test_a_model_that_fits_on_no_rank(_):
    """llama-15m needs 93 MiB: too much for a rank of 64, not for two of them."""
    model = ("generate", "-m", "shape:llama-15m", "-d", "reference", "-c", "16", "--ids", "1,2,3", "-n", "3", "--print-ids", "--temp", "0")
    whole = run(*model)
    few = (*model, "--device-memory", "64")
    assert "64 MiB are available" in run(*few, code=4).err
    split = ranks(2, COMMAND, *few, *SPLIT)
    equal(split.text, whole.text)
    assert "layers: 4 of 6 on rank 0, 2 on rank 1" in split.err, split
    said = refused_by_all(2, 4, *model, "--device-memory", "24")
    assert any("the 2 ranks have room for " in line and "start more ranks" in line for line in said), said


def test_more_ranks_than_layers(_):
    said = refused_by_all(3, 2, "generate", "-m", "shape:tiny", *REFERENCE, "--ids", "1")
    assert said and all("the model has 2 layers, and 3 ranks are to share them: start at most 2" in line for line in said), said


def test_a_rank_reads_its_own_layers_and_a_failure_ends_all(folder):
    """The last layer is not a number. Rank 1 has that layer and says so; rank 0 has not read it, and says who has ended."""
    name = "transformer.h.5.mlp.c_fc.weight"
    with apart(folder, 2, "generate", "-m", broken_at(folder, "shakespeare", name), *REFERENCE, "-n", "2", "KING", *SPLIT) as process:
        process.communicate(timeout=60)
    codes, said = told(folder, 2)
    equal(codes, [5, 3])
    rank = f"rank 1 on {os.uname().nodename}"
    assert f"tessera: {rank}: " in said[1] and name in said[1] and " ended: " not in said[1], said
    assert f"tessera: {rank} ended: " in said[0] and name in said[0], said


def goes_away(folder, how):
    text = lines(folder, 3000)
    rank_goes_away(folder, how, 3, "gave no sign of life for 3 s", text, "generate", "-d", "reference", "-n", "8", "--lines", "-f", text, *SPLIT)


def test_a_rank_that_is_killed_ends_all(folder):
    goes_away(folder, signal.SIGKILL)


def test_a_rank_that_is_stopped_ends_all(folder):
    goes_away(folder, signal.SIGSTOP)


def test_a_kind_named_once_for_each_rank(folder):
    """With `cpu,cpu` the second rank has the second CPU, as with `cpu`."""
    if not has_device("pocl"):
        print("       SKIP: pocl is not here")
        return
    layered = ("env", f"OPENCL_LAYERS={BUILD / 'tests' / 'name_layer.so'}", COMMAND)  # not mpirun, which opens OpenCL's loader, too
    for names, option, variable in (("cpu,cpu", True, None), ("cpu", True, None), ("cpu,cpu", False, "cpu,cpu")):
        ranks(2, *layered, "generate", "-n", "4", "KING", *SPLIT, *(("-d", names) if option else ()), f"--profile={folder / 'profile'}",
              env=environment(POCL_DEVICES="basic basic", TESSERA_DEVICE=variable))
        used = ["".join(sorted({row["device"][-1] for row in json.loads((folder / name).read_text())})) for name in ("profile", "profile.rank1")]
        equal(used, ["A", "B"], (names, variable))


need_mpi()
main(globals())
