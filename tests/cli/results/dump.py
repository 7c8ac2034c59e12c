#!/usr/bin/env python3
"""tessera dump of encoders and encoder-decoders, padded left and right: compares every tensor, by its name, with
the official implementation's (golden/README.md in the shared data; tests/golden/models)."""

import json
import math
import struct

from support.command import DEVICE, GOLDEN, SHARED, equal, main, read_safetensors, refused, run

HEADS = {"pre": "mlm.logits"}  # folders with one base and different heads; for others, the folder's name
DECODERS = ("gemma", "gpt2", "gpt_neox", "llama", "mistral", "opt", "phi3", "qwen2", "qwen3", "starcoder2")
ON_DEVICE = ("bert-tiny pre", "t5-tiny t5-tiny")  # tests/model checks every model's numbers on every device
CASES = ("short", "wide", "pad_right", "pad_left")
INPUTS = ("input_ids", "attention_mask", "token_type_ids", "position_ids", "decoder_input_ids", "decoder_attention_mask")


def golden():
    """(name, folder of the model, folder of its cases, name of its logits there)."""
    found = []
    for root in (SHARED / "golden", GOLDEN):
        for path in sorted(root.glob("*/cases.json")):
            for config in sorted({*path.parent.glob("config.json"), *path.parent.glob("*/config.json")}):
                family, folder = json.loads(config.read_text())["model_type"], config.parent
                if family not in DECODERS:
                    head = HEADS.get(folder.name, f"{folder.name}.logits") if folder != path.parent else "logits"
                    found.append((f"{path.parent.name} {folder.name}", folder, path.parent, head))
    return found


def array(data, entry):
    begin, end = entry["data_offsets"]
    kind = {"F32": "f", "F64": "d"}[entry["dtype"]]
    start = 8 + struct.unpack("<Q", data[:8])[0]
    return entry["shape"], struct.unpack(f"<{math.prod(entry['shape'])}{kind}", data[start + begin:start + end])


def near(got, wanted, what):
    equal(got[0], wanted[0], f"{what}: shape")
    bound = 1e-6 + 5e-5 * max(map(abs, wanted[1]))
    worst = max(abs(a - b) for a, b in zip(got[1], wanted[1]))
    assert worst <= bound, f"{what}: off by {worst}, more than {bound}"


def first_token_rows(array, case):
    (rows, width), values = array
    kept = [b for b in range(rows) if "attention_mask" not in case or case["attention_mask"][b][0]]
    return [len(kept), width], tuple(x for b in kept for x in values[b * width:(b + 1) * width])


def check(folder, device, model, cases, logits):
    """Compares every case's tensors; returns the names of those compared."""
    data = (cases / "expected.safetensors").read_bytes()
    header = json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])
    seen = set()
    for case in json.loads((cases / "cases.json").read_text())["cases"]:
        if case["name"] not in CASES:
            continue
        inputs = folder / "inputs.json"
        inputs.write_text(json.dumps({key: case[key] for key in INPUTS if key in case}))
        run("dump", "-q", "-d", device, "-m", model, "--compute", "f32", "--inputs", inputs, "--attention", "-o", folder / "o.safetensors")
        held = read_safetensors(folder / "o.safetensors")
        for name in held:
            entry = header.get(f"{case['name']}.{logits if name == 'logits' else 'base.pooled' if name == 'pooled' else name}")
            if entry:
                got, wanted = held[name], array(data, entry)
                if len(got[0]) == 2:  # computed from each row's first token, which a row that begins with padding does not have
                    got, wanted = (first_token_rows(a, case) for a in (got, wanted))
                if name == "attn":  # additive attention has one head, and no dimension for it
                    got = (got[0][:1] + got[0][2:], got[1])
                near(got, wanted, f"{model} {case['name']} {name}")
                seen.add(name)
        if "attention_mask" in case or "short" in case["name"]:
            missing = {name.split(".", 1)[1] for name in header if name.startswith(case["name"] + ".")} - seen
            equal({name for name in missing if "hidden" in name or "attn" in name}, set(), f"{model} {case['name']}: tensors that are missing")
    return seen


def test_against_the_official_implementations(folder):
    for name, model, cases, logits in golden():
        device = DEVICE if name in ON_DEVICE else "reference"
        print(f"       {name}: {len(check(folder, device, model, cases, logits))} tensors", flush=True)


def dump(folder, model, **inputs):
    (folder / "inputs.json").write_text(json.dumps(inputs))
    run("dump", "-q", "-d", "reference", "-m", model, "--inputs", folder / "inputs.json", "-o", folder / "o.safetensors")
    return read_safetensors(folder / "o.safetensors")


def test_decoders_start(folder):
    model = GOLDEN / "t5-tiny"
    start = json.loads((model / "config.json").read_text())["decoder_start_token_id"]
    silent = dump(folder, model, input_ids=[[5, 6, 7], [8, 9, 1]])
    equal(silent, dump(folder, model, input_ids=[[5, 6, 7], [8, 9, 1]], decoder_input_ids=[[start], [start]]))
    equal(silent["dec.hidden.0"][0][:2], [2, 1])
    run("dump", "-q", "-d", "reference", "-m", model, "--ids", "5,6,7", "--ids", "8,9", "--decoder-ids", f"{start},9", "--decoder-ids", f"{start}", "-o", folder / "rows.safetensors")
    padded = dump(folder, model, input_ids=[[5, 6, 7], [8, 9, 0]], attention_mask=[[1, 1, 1], [1, 1, 0]], decoder_input_ids=[[start, 9], [start, 0]],
                  decoder_attention_mask=[[1, 1], [1, 0]])
    equal(read_safetensors(folder / "rows.safetensors"), padded)
    equal(set(padded["logits"][1][-61:]), {0.0}, "a padded place of the decoder")


def test_masks_with_gaps(folder):
    """A row with a gap gives what its tokens give without it, at the positions that they have: in BLOOM, which counts tokens, and where no window is exceeded."""
    for name, more, wanted in (("bloom", {}, {}), ("mistral", {}, {"position_ids": [[0, 2, 3]]}), ("gpt2", {}, {"position_ids": [[0, 2, 3]]}),
                               ("mistral", {"position_ids": [[0, 1, 1, 2]]}, {})):
        model = GOLDEN / name
        got = dump(folder, model, input_ids=[[5, 6, 7, 8]], attention_mask=[[1, 0, 1, 1]], **more)
        whole = dump(folder, model, input_ids=[[5, 7, 8]], **wanted)
        for array, (shape, values) in whole.items():
            width = math.prod(shape) // 3
            kept = got[array][1][:width] + got[array][1][2 * width:]
            near((shape, kept), (shape, values), f"{name} {array}")
            equal(set(got[array][1][width:2 * width]), {0.0}, f"{name} {array}: the gap")


def test_dump_refused(folder):
    bert, t5, mpnet = GOLDEN / "bert-tiny" / "pre", GOLDEN / "t5-tiny", GOLDEN / "mpnet" / "mlm"
    gap = {"input_ids": [[5, 6, 7]], "attention_mask": [[1, 0, 1]]}
    longer = {"input_ids": [[5] * 9], "attention_mask": [[1, 0] + [1] * 7]}  # than the window of mistral, 8
    inputs = folder / "inputs.json"
    for model, code, fragment, given in (
            (bert, 2, "inputs of a decoder", {"input_ids": [[5]], "decoder_input_ids": [[5]]}),
            (bert, 2, "segment", {"input_ids": [[5]], "token_type_ids": [[2]]}),
            (bert, 2, "it must be from 0 to 2147483647", {"input_ids": [[5]], "token_type_ids": [[-1]]}),
            (bert, 3, "token_type_ids", {"input_ids": [[5]], "token_type_ids": [[0, 0]]}),
            (mpnet, 2, "has no token types", {"input_ids": [[5]], "token_type_ids": [[0]]}),
            (mpnet, 3, "counts distances", gap),
            (GOLDEN / "deberta_v2-odd" / "mlm", 3, "counts distances", gap),
            (GOLDEN / "mpt-odd", 3, "counts distances", gap),
            (GOLDEN / "jina_bert-odd" / "base", 3, "counts distances", gap),
            (GOLDEN / "mistral", 3, "counts distances", longer),
            (GOLDEN / "modernbert" / "mlm", 3, "counts distances", longer),
            (t5, 3, "counts distances", {"input_ids": [[5]], "decoder_input_ids": [[5, 6, 7]], "decoder_attention_mask": [[1, 0, 1]]}),
            (t5, 3, "2 rows", {"input_ids": [[5]], "decoder_input_ids": [[5], [6]]}),
            (t5, 3, "decoder_attention_mask", {"input_ids": [[5]], "decoder_input_ids": [[5]], "decoder_attention_mask": [[1, 1]]}),
            (t5, 2, "decoder_input_ids masks all tokens", {"input_ids": [[5]], "decoder_input_ids": [[5]], "decoder_attention_mask": [[0]]}),
            (t5, 2, "decoder_input_ids[0][0] is 61", {"input_ids": [[5]], "decoder_input_ids": [[61]]})):
        inputs.write_text(json.dumps(given))
        refused(code, fragment, "dump", "-q", "-d", "reference", "-m", model, "--inputs", inputs, "-o", folder / "o.safetensors")
    refused(2, "1 rows and 2 --decoder-ids", "dump", "-q", "-d", "reference", "-m", t5, "--ids", "5", "--decoder-ids", "1", "--decoder-ids", "2", "-o", folder / "o.safetensors")
    assert not (folder / "o.safetensors").exists()


main(globals())
