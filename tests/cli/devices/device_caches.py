#!/usr/bin/env python3
"""Files of the caches, Tessera's and the driver's, damaged in every way: the next run gives the right text or one message, and the run after it the
right text. Also two processes that start at once with empty caches."""

import random
import shutil

from support.command import ALL, DEVICE, GOLDEN, PLAY, environment, equal, has_device, main, run, skip, start
from support.planted import dying

TINY = ("generate", "-d", DEVICE, "-m", GOLDEN / "gpt2-tiny", "--temp", "0", "--ignore-eos", "--print-ids", "--ids", "9", "-n", "8")
WAYS = ("half", "empty", "flipped", "another", "longer", "a folder")


def damage(path, how, other, rng):
    data = path.read_bytes()
    if how == "a folder":
        path.unlink()
        path.mkdir()
        (path / "file").write_bytes(data)
        return
    changed = bytearray(data)
    for _ in range(8 if data else 0):
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes({"half": data[:len(data) // 2], "empty": b"", "flipped": bytes(changed), "another": other, "longer": data + b"\0"}[how])


def filled(folder, make=environment, **more):
    """Caches of a machine that has run the model, and its text. The driver's cache is the one that all tests share."""
    place = make(TESSERA_CACHE=folder / "ours", **more)
    return place, run(*TINY, env=place).out


def files(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def after(place, wanted, what):
    """One run that finds damage, and then one that must find none."""
    process = start(*TINY, env=place)
    out, err = process.communicate()
    told = err.decode("utf-8", "replace")
    said = [line for line in told.splitlines() if line.startswith("tessera: ")]
    if process.returncode == 0:
        equal(out, wanted, f"{what}: {told}")
    else:
        assert said, f"{what}: exit code {process.returncode} without a word: {told}"
    for _ in range(2 if process.returncode else 1):
        again = start(*TINY, env=place)
        out, err = again.communicate()
        if again.returncode == 0:
            break
    equal((again.returncode, out), (0, wanted), f"{what}, the run after it: {err.decode('utf-8', 'replace')}")


def test_each_file_of_ours(folder):
    place, wanted = filled(folder)
    rng = random.Random(5)
    sound = folder / "sound"
    shutil.copytree(folder / "ours", sound)
    names = [path.relative_to(sound) for path in files(sound)]
    assert len(names) > 3, names
    for i, name in enumerate(names):
        for how in WAYS if ALL else (WAYS[i % len(WAYS)],):
            if i and not ALL and i % 6 > 2:
                continue
            shutil.rmtree(folder / "ours")
            shutil.copytree(sound, folder / "ours")
            damage(folder / "ours" / name, how, (sound / names[i - 1]).read_bytes(), rng)
            after(place, wanted, f"{name}, {how}")


def test_each_file_of_ours_at_once(folder):
    place, wanted = filled(folder)
    rng = random.Random(6)
    for how in WAYS if ALL else ("a folder",):
        for path in files(folder / "ours"):
            damage(path, how, b"TSROCL1\n", rng)
        after(place, wanted, how)
        shutil.rmtree(folder / "ours")
        if ALL:
            run(*TINY, env=place)


def kinds(folder):
    """One file of each kind in the driver's cache."""
    found = {}
    for path in files(folder):
        found.setdefault(path.suffix or path.name, path)
    return list(found.values())


def test_the_drivers_files(folder):
    """pocl's files lie in our cache: a damaged one that makes pocl crash is gone in the next run."""
    if not ALL or DEVICE != "pocl":
        return  # the driver compiles again each time, which takes half a minute per file
    place, wanted = filled(folder, dying, POCL_CACHE_DIR=None)
    theirs = folder / "ours" / "pocl"
    rng = random.Random(7)
    sound = folder / "sound"
    shutil.copytree(theirs, sound)
    some = [path.relative_to(sound) for path in kinds(sound)]
    assert some, "the driver keeps nothing in our cache"
    for i, name in enumerate(some):
        for how in WAYS:
            shutil.rmtree(theirs)
            shutil.copytree(sound, theirs)
            damage(theirs / name, how, (sound / some[i - 1]).read_bytes(), rng)
            after(place, wanted, f"the driver's {name}, {how}")


def test_the_users_own_driver_cache(folder):
    """Where POCL_CACHE_DIR names the folder, we may not clear it: the message names the folder, and without its files the next run is right."""
    if not ALL or DEVICE != "pocl":
        return
    place, wanted = filled(folder, dying, POCL_CACHE_DIR=folder / "pocl")
    for path in (folder / "pocl").rglob("program.bc"):
        path.write_bytes(path.read_bytes()[:1000])
    told = [start(*TINY, env=place).communicate()[1].decode() for _ in range(2)]
    assert f"remove {folder / 'pocl'}" in told[1], told
    shutil.rmtree(folder / "pocl")
    equal(run(*TINY, env=place).out, wanted)


def test_two_at_once(folder):
    wanted = run(*TINY).out
    place, _ = filled(folder)
    shutil.rmtree(folder / "ours")
    shutil.rmtree(folder / "pocl", ignore_errors=True)
    both = [start(*TINY, env=place) for _ in range(2)]
    for process in both:
        out, err = process.communicate()
        equal((process.returncode, out), (0, wanted), err.decode("utf-8", "replace"))
        assert b"warning" not in err, err
    told = run(*TINY, env=place)
    equal(told.out, wanted)
    assert "building" not in told.err and "warning" not in told.err, told


def test_warm(folder):
    """After `cache warm`, the first command of a user builds nothing: it adds no program to either cache."""
    place = environment(TESSERA_CACHE=folder / "ours", POCL_CACHE_DIR=folder / "pocl")
    tiny, translator = GOLDEN / "gpt2-tiny", PLAY.parent / "translate-de-en"
    told = run("cache", "warm", tiny, translator, "-d", DEVICE, env=place).text.splitlines()
    equal([line.rpartition(", ")[0] for line in told], [f"{tiny}: generate", f"{translator}: translate"])

    def built():
        return [path for path in files(folder) if not (path.suffix == ".test" or path.name.startswith("tempfile_"))]  # pocl leaves those behind

    before = built()
    assert before
    run(*TINY, env=place)
    for ids in ("9,3,4", "9"):
        run("generate", "-d", DEVICE, "-m", tiny, "--ids", ids, "-n", "20", "--seed", "1", env=place)
    run("translate", "-d", DEVICE, "-m", translator, given="Wo ist der Bahnhof?", env=place)
    equal(built(), before, "programs that a first command added")


if not has_device():
    skip(f"no device {DEVICE}")
main(globals())
