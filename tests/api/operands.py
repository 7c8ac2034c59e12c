#!/usr/bin/env python3
"""What include/tessera/op.h says of the operands and results of each op is what src/tensor/operands.h lists: their order, their names, which may be
missing, which are written, and, where op.h states them, their dimensions and dtypes."""

import re

from support.command import SOURCE, main

DTYPES = {"f32": "F32", "i32": "I32", "bf16": "BF16"}


def documented():
    """{op: (the text of its `in`, that of its `out`)}; an op that only refers to another one is not in it."""
    text = (SOURCE / "include" / "tessera" / "op.h").read_text(encoding="utf-8")
    text = text[text.index("typedef enum tsr_op_id"):text.index("TSR_OP_COUNT")]
    found = {}
    for before, name, after in re.findall(r"(?:/\*\*((?:(?!\*/).)*)\*/\s*)?TSR_OP_(\w+) = \d+,(?:[ ]*/\*\*<((?:(?!\*/).)*)\*/)?", text, re.S):
        if after:
            match = re.search(r"\bin (.*?), out ([^;]*)", " ".join(after.split()))
            found[name.lower()] = match.groups() if match else None
        else:
            keys = dict(re.findall(r"^\s*\* (in|out)\s+(.*(?:\n\s*\*        .*)*)", before, re.M))
            found[name.lower()] = tuple(re.sub(r"\n\s*\*\s*", " ", keys[key]) for key in ("in", "out")) if keys else None
    del found["none"]
    return found


def items(text):
    """[(name, whether it may be missing, dimensions or None, dtype or None)] of the text of `in` or `out`."""
    text = re.split(r"[:;]", re.sub(r"\([^()]*\)", "", text))[0]
    result = []
    for item in re.split(r",(?![^\[]*\])", text):
        match = re.fullmatch(r"\s*(\w+)(\??)(?:\[([^\]]*)\])?\s*(f32|i32|bf16)?.*", item, re.S)
        assert match, text
        name, missing, dimensions, dtype = match.groups()
        if name != "none":
            result.append((name, bool(missing), dimensions.replace(",", " ") if dimensions else None, DTYPES.get(dtype)))
    return result


def listed():
    """{op: (inputs, results)}, each a list of (name, dimensions, dtype, flags)"""
    text = (SOURCE / "src" / "tensor" / "operands.h").read_text(encoding="utf-8").replace("\\\n", " ")
    found = {}
    for op, rows in re.findall(r"#define TSRI_OPERANDS_([a-z_]+)\(IN, OUT\)(.*)", text):
        inputs = re.findall(r'\bIN\((\w+), (\w+), "([^"]*)", (\w+), [^,]*(?:\([^)]*\))?, ([A-Z_ |0]*)', rows)
        results = re.findall(r'\bOUT\((\w+), (\w+), "([^"]*)", (\w+), ([A-Z_ |0]*)', rows)
        for upper, lower, *_ in inputs + results:
            assert upper.lower() == lower, (op, upper, lower)
        assert len(inputs) + len(results) == len(re.findall(r"\b(?:IN|OUT)\(", rows)), op
        found[op] = [row[1:] for row in inputs], [row[1:] for row in results]
    for op, other in re.findall(r"#define TSRI_OPERANDS_([a-z_]+) TSRI_OPERANDS_(\w+)", text):
        found[op] = found[other]
    return found


def test_the_header_and_the_lists_agree(folder):
    lists, stated, faults = listed(), documented(), []
    for op, texts in stated.items():
        if not texts:
            continue
        for text, rows, missing in zip(texts, lists[op], ("OPTIONAL", "ON_REQUEST")):
            told = items(text)
            if [name for name, *_ in told] != [name for name, *_ in rows]:
                faults.append(f"{op}: op.h has {[name for name, *_ in told]}, operands.h {[name for name, *_ in rows]}")
                continue
            for (name, optional, dimensions, dtype), (_, words, rule, flags) in zip(told, rows):
                if optional != (missing in flags.split(" | ")):
                    faults.append(f"{op}: only one of them says that {name} may be missing")
                if dimensions and dimensions != words:
                    faults.append(f"{op}: {name} is [{dimensions}] in op.h, [{words}] in operands.h")
                if dtype and dtype != rule and not (rule == "FLOATS" and dtype == "F32"):
                    faults.append(f"{op}: {name} is {dtype} in op.h, {rule} in operands.h")
        written = {int(i) for i in re.findall(r"in\[(\d)\]", texts[1])}
        if written != {i for i, (*_, flags) in enumerate(lists[op][0]) if "WRITTEN" in flags.split(" | ")}:
            faults.append(f"{op}: op.h says that it writes the operands {sorted(written)}")
    assert not faults, "\n".join(faults)
    assert set(stated) == set(lists) - {"unary", "binary"}
    assert [op for op, texts in stated.items() if not texts] == ["mul", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid"], "these refer to another op"


main(globals())
