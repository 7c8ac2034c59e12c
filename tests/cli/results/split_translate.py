#!/usr/bin/env python3
"""Encoder-decoders whose layers are split over ranks: the bytes of one process for every family, search and number of ranks; each rank reads
only its own layers of both stacks; a rank that goes away ends all."""

import os
import random
import signal

from support.command import COMMAND, DEVICE, SOURCE, equal, main, run
from support.ranks import SPLIT, apart, broken_at, need_mpi, own_lines, rank_goes_away, ranks, refused_by_all, same, told

GOLDEN = SOURCE / "tests" / "golden"
TINY = GOLDEN / "translate"  # an encoder and a decoder layer; it writes a line in capitals, and reads 40 tokens
REFERENCE = ("-d", "reference", "-q")
WORDS = "one two three four five six seven".split()
LONG = "this is a very long line. it has several sentences, and it is longer than the model reads! yes."


def lines(folder, n, longest=5):
    draw = random.Random(n)
    path = folder / f"lines{n}"
    path.write_text("".join(" ".join(draw.choices(WORDS, k=draw.randint(0, longest))) + "\n" for _ in range(n)))
    return path


def translated(*arguments, **options):
    return same("translate", *REFERENCE, "-m", TINY, *arguments, together=SPLIT, numbers=(2,), **options)


def test_translate(folder):
    """Texts join searches that are under way, in lanes that others have left: there are more of them than lanes."""
    equal(translated("one", LONG, "", "two").text, f"ONE\n{LONG.upper()}\n\nTWO\n")
    translated("--num-beams", "1", "--batch-size", "4", "-f", lines(folder, 15))
    translated("--n-best", "4", "--batch-size", "3", "-f", lines(folder, 7))
    translated("--n-best", "1", "--coverage-penalty", "0.2", "--repeat-penalty", "1.1", "-f", lines(folder, 3))


def test_lines_without_a_translation(_):
    """The sentence comes from one rank."""
    arguments = ("translate", *REFERENCE, "-m", TINY, "--no-split", "one", LONG, "two")
    one = run(*arguments, code=1)
    split = ranks(2, COMMAND, *arguments, *SPLIT, code=1)
    equal(split.text, one.text)
    equal(own_lines(split.err), own_lines(one.err))


def test_families(_):
    """Stacks of one, two and three layers: some ranks have layers of one stack only."""
    ids = ("--ids", "5,9,12,7", "--ids", "8,3", "-n", "5", "--temp", "0", "--print-ids")
    for name, numbers in (("bart", (3,)), ("t5-v1.1", (2, 3, 5)), ("m2m_100", (2,)), ("marian-apart", (2,)), ("tessera-translate", (3,)), ("t5-tiny", (3,))):
        same("generate", *REFERENCE, "-m", GOLDEN / "models" / name, *ids, together=SPLIT, numbers=numbers)
    same("generate", *REFERENCE, "-m", GOLDEN / "models" / "mbart", *ids, "--num-beams", "3", "--n-best", "2", together=SPLIT, numbers=(4,))


def test_evaluate(folder):
    pairs = folder / "pairs"
    pairs.write_text("".join(f"{line}\t{line.upper()}\n" for line in lines(folder, 6).read_text().splitlines() if line))
    same("evaluate", *REFERENCE, "-m", TINY, "--parallel", pairs, together=SPLIT, numbers=(2,))


def test_the_device(_):
    same("translate", "-d", DEVICE, "-q", "-t", "1", "--num-beams", "2", "Wo ist der Bahnhof?", "Ja.", together=SPLIT, numbers=(2,))


def test_a_model_that_fits_on_no_rank(_):
    """The bundled translator needs 9 MiB for its weights: too much for a rank of 8, not for two of them."""
    model = ("translate", "-d", "reference", "--num-beams", "1", "-n", "3", "Ja.")
    few = (*model, "--device-memory", "8")
    assert "8 MiB are available" in run(*few, code=4).err
    split = ranks(2, COMMAND, *few, *SPLIT)
    equal(split.text, run(*model).text)
    assert "layers: " in split.err and " of 7 on rank 0, " in split.err, split
    said = refused_by_all(2, 4, *model, "--device-memory", "4")
    assert any("the 2 ranks have room for " in line and "start more ranks" in line for line in said), said


def test_refused(_):
    said = refused_by_all(3, 2, "translate", *REFERENCE, "-m", TINY, "one")
    assert said and all("the model has 2 layers, and 3 ranks are to share them: start at most 2" in line for line in said), said
    said = refused_by_all(2, 3, "generate", *REFERENCE, "-m", GOLDEN / "models" / "bahdanau", "--ids", "5,6")
    assert said and all("encoder-decoder of recurrent units" in line and "run it without --split-layers" in line for line in said), said


def test_a_rank_reads_its_own_layers_of_both_stacks(folder):
    """Rank 1 has the last layers of both stacks, rank 0 the first ones. The rank that has the broken array says so, the other one has not read
    it, and says who has ended."""
    for owner, name in ((1, "model.decoder.layers.2.fc1.weight"), (0, "model.encoder.layers.0.fc1.weight")):
        place = folder / str(owner)
        place.mkdir()
        with apart(place, 2, "translate", "-m", broken_at(place, "translate-de-en", name), *REFERENCE, "Ja.", *SPLIT) as process:
            process.communicate(timeout=60)
        codes, said = told(place, 2)
        equal((codes[owner], codes[1 - owner]), (3, 5))
        rank = f"rank {owner} on {os.uname().nodename}"
        assert f"tessera: {rank}: " in said[owner] and name in said[owner] and " ended: " not in said[owner], said
        assert f"tessera: {rank} ended: " in said[1 - owner] and name in said[1 - owner], said


def goes_away(folder, how):
    text = lines(folder, 3000)
    rank_goes_away(folder, how, 2, "gave no sign of life for 3 s", text, "translate", "-d", "reference", "-m", TINY, "-f", text, *SPLIT)


def test_a_rank_that_is_killed_ends_all(folder):
    goes_away(folder, signal.SIGKILL)


def test_a_rank_that_is_stopped_ends_all(folder):
    goes_away(folder, signal.SIGSTOP)


need_mpi()
main(globals())
