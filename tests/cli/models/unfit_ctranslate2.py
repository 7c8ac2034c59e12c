#!/usr/bin/env python3
"""CTranslate2 folders that the command must refuse: exit code 3 and one message that names file and field."""

import json
import shutil
import struct

from support.command import SOURCE, change_json, main, refused, run

MODELS = SOURCE / "tests" / "golden" / "ctranslate2"
TYPES = (("f", 4), ("b", 1), ("h", 2), ("i", 4), ("H", 2), ("H", 2))


def text(value):
    data = value.encode() + b"\0"
    return struct.pack("<H", len(data)) + data


def read(path):
    """(spec, revision, {name: [dims, type, data]}, {alias: name}) of a model.bin of version 6."""
    data, at = path.read_bytes(), 0

    def take(form):
        nonlocal at
        values = struct.unpack_from("<" + form, data, at)
        at += struct.calcsize("<" + form)
        return values[0] if len(values) == 1 else values

    def take_text():
        return take(f"{take('H')}s")[:-1].decode()

    assert take("I") == 6
    spec, revision, variables = take_text(), take("I"), {}
    for _ in range(take("I")):
        name = take_text()
        dims = [take("I") for _ in range(take("B"))]
        kind, size = take("B"), take("I")
        variables[name] = [dims, kind, take(f"{size}s") if size else b""]
    aliases = dict((take_text(), take_text()) for _ in range(take("I")))
    assert at == len(data)
    return spec, revision, variables, aliases


def write(path, spec, revision, variables, aliases):
    out = [struct.pack("<I", 6), text(spec), struct.pack("<II", revision, len(variables))]
    for name, (dims, kind, data) in variables.items():
        out += [text(name), struct.pack(f"<B{len(dims)}IBI", len(dims), *dims, kind, len(data)), data]
    out.append(struct.pack("<I", len(aliases)))
    out += [text(alias) + text(name) for alias, name in aliases.items()]
    path.write_bytes(b"".join(out))


def info(path, fragment):
    return refused(3, fragment, "info", path)


def copied(folder, name, title):
    return shutil.copytree(MODELS / name, folder / title)


def number(kind, value):
    return [[], kind, struct.pack("<" + TYPES[kind][0], value)]


def test_what_is_written_back_is_read(folder):
    for name in ("opennmt", "marian", "t5", "bart", "bert", "gpt2"):
        model = copied(folder, name, name)
        write(model / "model.bin", *read(model / "model.bin"))
        assert (model / "model.bin").read_bytes() == (MODELS / name / "model.bin").read_bytes()
        run("info", model)
        run("info", model / "model.bin")


def test_variables(folder):
    """Changes one variable of a model (None removes it), and checks the message about it."""
    qkv = "encoder/layer_0/self_attention/linear_0/weight"
    cases = (
        ("opennmt", "decoder/embeddings/weight", None, '"decoder.embeddings.weight" is missing'),
        ("opennmt", "encoder/embeddings_0/weight", None, '"encoder.embeddings_0.weight" is missing'),
        ("opennmt", "decoder/projection/weight", None, '"decoder.projection.weight" is missing'),
        ("opennmt", "encoder/layer_1/ffn/linear_1/weight", None, '"encoder.layer_1.ffn.linear_1.weight" is missing'),
        ("opennmt", "encoder/layer_0/ffn/linear_0/weight", None, '"encoder.layer_0.ffn.linear_0.weight" is missing'),
        ("opennmt", "decoder/layer_1/attention/linear_1/bias", None, '"decoder.layer_1.attention.linear_1.bias" is missing'),
        ("opennmt", "decoder/layer_1/attention/layer_norm/gamma", None, '"decoder.layer_1.attention.layer_norm.weight" is missing'),
        ("opennmt", qkv, [[47, 16], 0, bytes(47 * 64)], "has 47 rows; queries, keys and values of 4 heads"),
        ("opennmt", qkv, [[48, 17], 0, bytes(48 * 68)], "has shape [48, 17]"),
        ("opennmt", qkv, [[48, 16], 3, bytes(48 * 64)], "is stored as int32"),
        ("opennmt", qkv, [[48, 16], 1, bytes(48 * 16)], "is stored as int8"),
        ("opennmt", "decoder/projection/bias", [[39], 0, bytes(39 * 4)], "has shape [39]"),
        ("opennmt", "encoder/num_heads", number(2, 5), "has 48 rows; queries, keys and values of 5 heads"),
        ("opennmt", "encoder/num_heads", number(2, 0), '"encoder/num_heads" is 0; it must be from 1'),
        ("opennmt", "encoder/activation", number(1, 4), '"encoder/activation" is 4 (GELU by sigmoid)'),
        ("opennmt", "encoder/activation", number(1, 99), '"encoder/activation" is 99'),
        ("opennmt", "encoder/activation", number(0, 0.5), '"encoder/activation"'),
        ("opennmt", "encoder/scale_embeddings", number(1, 0), "with embeddings times 1, its decoder 16 with embeddings times 4"),
        ("opennmt", "decoder/alibi", number(1, 1), '"decoder/alibi" is 1, which is not served'),
        ("opennmt", "decoder/layer_0/self_attention/rotary_dim", number(3, 0), None),
        ("opennmt", "decoder/layer_0/self_attention/rotary_dim", number(3, 4), "rotary_dim"),
        ("opennmt", "encoder/embeddings_1/weight", [[3, 16], 0, bytes(3 * 64)], "has more features than the words"),
        ("opennmt", "decoder/project_in/weight", [[16, 16], 0, bytes(1024)], '"decoder.project_in.weight" is not part'),
        ("t5", "encoder/layer_0/self_attention/relative_attention_bias", [[8, 3], 0, bytes(96)], "must be [buckets, 4]"),
        ("t5", "encoder/layer_0/self_attention/relative_attention_max_distance", number(3, 3), "must be more than half of the 8 buckets"),
        ("t5", "encoder/layer_1/self_attention/relative_attention_bias", [[8, 4], 0, bytes(128)], "has a relative bias of its own"),
        ("marian", "decoder/embeddings/weight_scale", [[38], 0, bytes(38 * 4)], "one number or one for each of the 39 rows"),
        ("marian", "decoder/embeddings/weight_scale", None, "is stored as int8"),
        ("marian", "decoder/start_from_zero_embedding", number(1, 2), "start_from_zero_embedding"),
        ("bert", "pooler_dense/weight", [[16, 15], 0, bytes(16 * 60)], '"pooler_dense.weight" has shape [16, 15]'),
        ("gpt2", "decoder/position_encodings/encodings", [[20, 15], 0, bytes(1200)], "has shape [20, 15]"),
    )
    for i, (name, variable, value, fragment) in enumerate(cases):
        model = copied(folder, name, str(i))
        spec, revision, variables, aliases = read(model / "model.bin")
        aliases = {alias: to for alias, to in aliases.items() if alias != variable and to != variable}
        if value is None:
            variables.pop(variable, None)
        else:
            variables[variable] = value
        write(model / "model.bin", spec, revision, variables, aliases)
        if fragment:
            info(model, fragment)
        else:
            run("info", model)


def test_kinds_and_revisions(folder):
    model = copied(folder, "bart", "m")
    spec, revision, variables, aliases = read(model / "model.bin")
    for other, number_of, fragment in (("WhisperSpec", 3, 'kind "WhisperSpec" is not served'), (spec, 8, "revision 8 of TransformerSpec is not read; 1 to 7"),
                                       (spec, 0, "revision 0 of TransformerSpec is not read"), ("TransformerDecoderSpec", 8, "not part of a ctranslate2 model")):
        write(model / "model.bin", other, number_of, variables, aliases)
        info(model, fragment)


def test_cut_off(folder):
    model = copied(folder, "marian", "m")
    whole = (model / "model.bin").read_bytes()
    for size in [0, 1, 3, 4, 5, 21, *range(30, len(whole), 1499), len(whole) - 1]:
        (model / "model.bin").write_bytes(whole[:size])
        info(model, "model.bin")
    (model / "model.bin").write_bytes(b"\x07" + whole[1:])
    info(model, "binary version 7; versions 1 to 6 are read")
    (model / "model.bin").unlink()
    info(model, "has no weights")


def test_vocabularies(folder):
    model = copied(folder, "bart", "m")
    path = model / "shared_vocabulary.json"
    words = json.loads(path.read_text())
    for damaged, fragment in ((words[:-1], "gives 39 pieces (the unknown token counted)"), (words + ["more"], "gives 41 pieces"), ([], "has no pieces"),
                              ({}, "a list of at most"), (words[:-1] + [7], "item 39 is not a text"), (words[:3] + ["x"] + words[4:], "gives 41 pieces"),
                              (words[:2] + ["x"] + words[3:], 'has no piece "</s>", which is the eos_token')):
        path.write_text(json.dumps(damaged))
        info(model, fragment)
    path.write_text("[")
    info(model, "shared_vocabulary.json")
    path.unlink()
    info(model, "has no vocabulary")
    (model / "target_vocabulary.txt").write_text("".join(word + "\n" for word in words))
    info(model, "has no vocabulary")
    for ending in "\n", "\r\n":
        for side in "source", "target":
            (model / f"{side}_vocabulary.txt").write_bytes("".join(word + ending for word in words).encode())
        run("info", model)


def test_config(folder):
    model = copied(folder, "bart", "m")
    for changes, fragment in (({"eos_token": 2}, "eos_token"), ({"decoder_start_token": "nowhere"}, 'no piece "nowhere", which is the decoder_start_token'),
                              ({"layer_norm_epsilon": -1}, "layer_norm_epsilon"), ({"add_source_eos": "yes"}, "add_source_eos"),
                              ({"quantization_type": 1}, "AWQ")):
        shutil.copy(MODELS / "bart" / "config.json", model / "config.json")
        change_json(model / "config.json", **changes)
        info(model, fragment)
    for damaged in "", "[]", "{":
        (model / "config.json").write_text(damaged)
        info(model, "config.json")
    (model / "config.json").unlink()
    info(model, "config.json is missing")


main(globals())
