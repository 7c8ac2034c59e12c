#!/usr/bin/env python3
"""tessera explain, dump and --profile: what runs where, what a model computes inside, and how long it takes."""

import json
import math
import struct

from support.command import GOLDEN, PLAY, change_json, copy_model, equal, main, read_safetensors, refused, run

REFERENCE = ("-d", "reference")
TINY = GOLDEN / "gpt2-tiny"
B, T, C, H, L, V = 2, 5, 24, 4, 2, 61


def dump(folder, *arguments, model=TINY):
    told = run("dump", *REFERENCE, "-m", model, "-q", *arguments, "-o", folder / "o.safetensors")
    equal((told.out, told.err), (b"", ""))
    return read_safetensors(folder / "o.safetensors")


def near(got, wanted, what):
    assert len(got) == len(wanted), what
    worst = max((abs(a - b) for a, b in zip(got, wanted)), default=0)
    assert worst < 1e-4, f"{what}: off by {worst}"


def row(array, index):
    """Row `index` of an array whose first two axes are taken as one."""
    shape, values = array
    size = math.prod(shape[2:])
    return values[index * size:(index + 1) * size]


def test_shapes(folder):
    held = dump(folder, "--ids", "1,2,3,4,5", "--ids", "6,7,8", "--attention")
    equal(set(held), {"logits", *(f"hidden.{i}" for i in range(L + 1)), *(f"attn.{i}" for i in range(L))})
    equal(held["logits"][0], [B, T, V])
    for i in range(L + 1):
        equal(held[f"hidden.{i}"][0], [B, T, C])
    for i in range(L):
        shape, values = held[f"attn.{i}"]
        equal(shape, [B, H, T, T])
        for line in range(H * T):
            at = line * T
            assert abs(sum(values[at:at + T]) - 1) < 1e-5
            equal(values[at + line % T + 1:at + T], (0.0,) * (T - 1 - line % T), "later tokens must be masked")
    equal(set(dump(folder, "--ids", "1")), {"logits", *(f"hidden.{i}" for i in range(L + 1))})


def test_against_the_official_implementation(folder):
    case = json.loads((TINY / "cases.json").read_text())["cases"][0]
    held = dump(folder, "--ids", ",".join(map(str, case["input_ids"][0])))
    data = (TINY / "expected.safetensors").read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    entry = json.loads(data[8:8 + size])[case["name"] + ".logits"]
    kind = {"F32": "f", "F64": "d"}[entry["dtype"]]
    begin, end = (8 + size + at for at in entry["data_offsets"])
    wanted = struct.unpack(f"<{math.prod(entry['shape'])}{kind}", data[begin:end])
    near(held["logits"][1], wanted, "logits")


def test_padding_on_either_side(folder):
    rows = [[9, 8, 7, 6, 5], [30, 31, 32]]
    inputs = {}
    for side, pad in (("left", lambda r, p: p + r), ("right", lambda r, p: r + p)):
        inputs[side] = folder / f"{side}.json"
        inputs[side].write_text(json.dumps({"input_ids": [pad(r, [0] * (T - len(r))) for r in rows],
                                            "attention_mask": [pad([1] * len(r), [0] * (T - len(r))) for r in rows],
                                            "position_ids": [pad(list(range(len(r))), [0] * (T - len(r))) for r in rows]}))
    left, right = (dump(folder, "--inputs", inputs[side]) for side in ("left", "right"))
    alone = dump(folder, "--ids", "30,31,32")
    for name, array in alone.items():
        for t in range(3):
            near(row(right[name], T + t), row(array, t), f"{name}, padded on the right")
            near(row(left[name], T + 2 + t), row(array, t), f"{name}, padded on the left")
        equal(set(row(right[name], T + 4)) | set(row(left[name], T)), {0.0}, "padded places")
    equal(left["logits"][0], [B, T, V])


def test_text(folder):
    held = dump(folder, "--text", "ROMEO:", model=PLAY)
    equal(held["logits"][0], [1, 2, 1024])


def test_dump_refused(folder):
    target = folder / "o.safetensors"
    bad = folder / "bad.json"
    for text, fragment in (("{", "bad.json"), ("[]", "bad.json"), ('{"input_ids": [[1],[2,3]]}', "input_ids"), ('{"input_ids": [["x"]]}', "input_ids"),
                           ('{"input_ids": [[1,2]], "attention_mask": [[1]]}', "attention_mask"), ('{}', "input_ids")):
        bad.write_text(text)
        refused(3, fragment, "dump", *REFERENCE, "-m", TINY, "--inputs", bad, "-o", target)
    bad.write_text('{"input_ids": [[1,2]], "attention_mask": [[0,0]]}')
    refused(2, "mask", "dump", *REFERENCE, "-m", TINY, "--inputs", bad, "-o", target)
    refused(3, "nothing.json", "dump", *REFERENCE, "-m", TINY, "--inputs", folder / "nothing.json", "-o", target)
    refused(2, "61", "dump", *REFERENCE, "-m", TINY, "--ids", "61", "-o", target)
    refused(2, "49", "dump", *REFERENCE, "-m", TINY, "--ids", ",".join("1" * 49), "-o", target)
    refused(3, "none", "dump", *REFERENCE, "-m", TINY, "--ids", "1", "-o", folder / "none" / "o")
    equal(sorted(path.name for path in folder.iterdir()), ["bad.json"], "nothing is left behind")


def test_logits_that_are_no_numbers(folder):
    model = copy_model(TINY, folder / "m")
    data = bytearray((model / "model.safetensors").read_bytes())
    (size,) = struct.unpack("<Q", data[:8])
    begin, end = (8 + size + at for at in json.loads(data[8:8 + size])["transformer.ln_f.weight"]["data_offsets"])
    data[begin:end] = struct.pack("<f", 3e38) * ((end - begin) // 4)  # the value itself is finite, but its products are not
    (model / "model.safetensors").write_bytes(data)
    for sampling in (("--temp", "0", "--logprobs", "1"), ("--temp", "0.8"), ("--temp", "0.8", "--top-k", "0")):
        refused(4, "are not numbers", "generate", *REFERENCE, "-m", model, *sampling, "--ids", "9", "-n", "3")


def test_explain(_):
    told = json.loads(run("explain", *REFERENCE, "--json", TINY).text)
    equal(set(told), {"dtype", "compute", "kv_dtype", "prefill", "decode"})
    assert told["compute"].startswith("f32 of f32 (auto:"), told["compute"]
    equal((told["prefill"]["tokens"], told["decode"]["tokens"]), (48, 1))
    for phase in (told["prefill"], told["decode"]):
        names = {op["op"] for op in phase["ops"]}
        assert {"embed", "linear", "attention", "qkv_append"} <= names, names
        for op in phase["ops"]:
            equal(set(op), {"label", "op", "device", "note", "variants"})
            for r in op["variants"]:
                equal(set(r), {"name", "chosen", "fits", "batch_invariant", "score", "why", "tunables"})
    equal(json.loads(run("explain", *REFERENCE, "--json", "-m", TINY, "--prompt-tokens", "7").text)["prefill"]["tokens"], 7)
    text = run("explain", *REFERENCE, TINY).text
    assert text.startswith("matrices kept as: f32") and "\nprefill, 48 tokens a run\n" in text and "\ndecode, 1 token a run\n" in text


def test_a_long_prompt_is_explained_by_the_piece(folder):
    model = copy_model(GOLDEN / "llama-tiny", folder / "m")
    change_json(model / "config.json", max_position_embeddings=4096)
    for prompt, piece in (("512", 512), ("2048", 512), ("9999", 512)):
        told = json.loads(run("explain", *REFERENCE, "--json", "-m", model, "--prompt-tokens", prompt).text)
        equal((told["prefill"]["tokens"], told["prefill"]["asked"], told["decode"]["tokens"]), (piece, min(int(prompt), 4096), 1))
    note = "\nprefill, 512 tokens a run\na prompt of 2048 tokens is read 512 at a time\n"
    assert note in run("explain", *REFERENCE, "-m", model, "--prompt-tokens", "2048").text
    assert " at a time" not in run("explain", *REFERENCE, "-m", model, "--prompt-tokens", "512").text
    recurrent = run("explain", *REFERENCE, GOLDEN / "bahdanau", "--prompt-tokens", "7").text
    assert "encode, 7 tokens a run\n" in recurrent and "\nprefill, 1 token a run\na prompt of 7 tokens is read 1 at a time\n" in recurrent, recurrent


def test_forced_rows_that_are_not_there(_):
    told = run("explain", *REFERENCE, "--kernels", "linear=no_such_variant", TINY, code=2)
    assert "on the reference device linear has one kernel variant, reference" in told.err


def test_profile(folder):
    generate = ("generate", *REFERENCE, "-q", "-m", TINY, "--ids", "9", "-n", "4", "--temp", "0", "--print-ids", "--ignore-eos")
    plain = run(*generate)
    shown = run(*generate, "--profile")
    equal(shown.out, plain.out)
    assert shown.err.startswith("profile: device time by op and kernel\n") and "attention" in shown.err, shown
    written = run(*generate, f"--profile={folder / 'p.json'}")
    equal((written.out, written.err), (plain.out, ""))
    told = json.loads((folder / "p.json").read_text())
    assert {"linear", "attention"} <= {entry["op"] for entry in told}
    for entry in told:
        equal(set(entry), {"device", "op", "kernel", "launches", "nanoseconds", "enqueue_nanoseconds"})
        assert entry["launches"] > 0 and entry["nanoseconds"] >= 0, entry
    for command in ("bench", "--shape", "tiny"), ("bench", "suite"), ("verify",):
        refused(2, f"--profile: {' '.join(part for part in command if part in ('bench', 'suite', 'verify'))} measures by itself", *command, "--profile")
    told = run(*generate, f"--profile={folder / 'none' / 'p.json'}", code=3)
    assert "p.json: the profile could not be written" in told.err


main(globals())
