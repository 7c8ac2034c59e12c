#!/usr/bin/env python3
"""Every kernel of cl/ with an error that begins at some size: `tessera verify` must report each variant that uses it.

All kernels of the tree are broken: in a copy of cl/, read through TESSERA_KERNEL_PATH, all work-items of each kernel but the first return at once;
where work-items wait for each other, all work-groups do what the first one does (pocl 3.1 compiles a return before a barrier wrongly). Kernels
that only run before another one are broken separately, in a second copy. ci/test --all verifies every op; without --all, three in turn. The variants that
this device can't run are listed.
"""

import json
import os
import re
import shutil

from support.command import ALL, SOURCE, due, environment, has_device, main, run, skip

DEVICE = "pocl"
# Kernels of no variant: those that measure the device (bench) or that a probe runs (libexec/tessera/probe), and the chain, which
# device_planted.py breaks.
NO_ROWS = re.compile(r"^(peak|probe|chain)/")
# Kernels after which another one runs.
STAGE = re.compile(r"(/scores|_queries|/beta|/gates|/quantise_rows|/norm_rows|/vnni_rows|/wide_rows|/bf16_rows|^cached_bf16/rows|/each_part)\.cl$")
# A variant that runs only CLBlast's kernels.
FOREIGN = "matmul/clblast"
FEW = ("linear", "attention", "embed", "rms_norm", "softmax", "kv_append")


def kernels():
    names = sorted(str(path.relative_to(SOURCE / "cl")) for path in (SOURCE / "cl").rglob("*.cl"))
    return [name for name in names if not NO_ROWS.search(name)]


def give_up(text, name, barriers):
    """The kernel, in which all work-items after the first do nothing; or, if work-items wait for each other, the first work-group again."""
    if barriers:
        return f"#define get_global_id get_local_id\n#define get_group_id(axis) 0\n{text}\n#undef get_global_id\n#undef get_group_id\n"
    begin = re.search(r"\bKERNEL\(", text)
    assert begin, f"cl/{name} has no KERNEL("
    at = text.index("\n{", begin.end()) + 2
    return text[:at] + "\n    if (get_global_id(0) + get_global_id(1) + get_global_id(2) > 0)\n        return;" + text[at:]


def waits(tree, text):
    """Whether its work-items wait for each other: it, or a file that it includes, has a barrier."""
    parts = [(tree / path).read_text() for path in re.findall(r'#include "([^"]+)"', text)]
    return "barrier(" in text or any(waits(tree, part) for part in parts)


def plant(folder, chosen):
    tree = folder / "cl"
    shutil.copytree(SOURCE / "cl", tree)
    for name in chosen:
        text = (tree / name).read_text()
        (tree / name).write_text(give_up(text, name, waits(tree, text)))
        os.utime(tree / name, (1, 2))  # reading a file then changes its access time
    return tree


def verify(tree, folder, *arguments):
    env = environment(TESSERA_KERNEL_PATH=tree, TESSERA_CACHE=folder / "cache", TESSERA_CHAIN=0)
    return json.loads(run("verify", "--smoke", "--json", "-d", DEVICE, *arguments, env=env, code=1).text)


def check(folder, stages, *arguments):
    """Every variant that ran must have missed at least one case; of the stages, at least some must have."""
    chosen = [name for name in kernels() if bool(STAGE.search(name)) == stages]
    tree = plant(folder, chosen)
    told = [r for op in (arguments or (None,)) for r in verify(tree, folder, *(("--op", op) if op else ()))]
    rows = {}
    for r in told:
        if r["variant"] and r["variant"] != "decomposed":
            rows.setdefault(r["variant"], []).append(r["status"])
    missed = sorted(row for row, statuses in rows.items() if "miss" in statuses)
    right = sorted(row for row, statuses in rows.items() if set(statuses) == {"ok"} and row != FOREIGN)
    idle = sorted(row for row, statuses in rows.items() if set(statuses) <= {"skipped", "not offered"})
    print(f"{len(missed)} rows told, {len(right)} right, {len(idle)} not run here: {', '.join(idle)}")
    unread = [name for name in chosen if (tree / name).stat().st_atime_ns == 10**9]
    if not arguments and len(unread) < len(chosen):
        print(f"kernels that nothing on this device builds: {', '.join(unread) or 'none'}")
    return missed, right


def test_every_kernel(folder):
    ops = () if ALL else due(FEW, 3)
    missed, right = check(folder, False, *ops)
    assert not right, f"verify saw nothing wrong in {right}"
    assert len(missed) >= (len(FEW) if ALL else len(ops)), missed


def test_every_kernel_that_runs_before_another(folder):
    ops = () if ALL else due(("additive_attention", "linear"))
    missed, _ = check(folder, True, *ops)
    assert len(missed) >= (2 if ALL else 1), missed


if not has_device(DEVICE):
    skip(f"{DEVICE} is not here")
main(globals())
