#!/usr/bin/env python3
"""GGUF files with blocks of 256 numbers, as Q4_K_M has them, and gpt-oss with blocks of mxfp4: they are kept as they are, matrices of several types side
by side. With f32 products the bytes are those of the same numbers kept as f32; int8 products are near them."""

import json
import math
import random
import struct

from support.adapter import header, read, write, write_adapter
from support.command import BUILD, DEVICE, GOLDEN, copy_model, due, environment, equal, has_device, main, read_safetensors, refused, run, small_buffers
from support.gguf import write_gguf

IDS = ("--ids", "1,2,3,4,5,6,7,8,9,10,11,12", "--ids", "7")
C, F, V, HEADS, KV, EXPERTS = 256, 512, 70, 4, 2, 12
MXFP4 = GOLDEN / "gpt_oss-mxfp4"  # 5 experts of 64, which 32 inputs go to
# ggml's number of a type, numbers and bytes of a block, where its halves lie, and their values
TYPES = {"q4_K": (12, 256, 144, (0, 2), (1.2e-4, 9e-4)), "q5_K": (13, 256, 176, (0, 2), (6e-5, 9e-4)), "q6_K": (14, 256, 210, (208,), (2e-5,)),
         "q2_K": (10, 256, 84, (80, 82), (2e-3, 4e-3)), "q3_K": (11, 256, 110, (108,), (8e-4,)), "iq4_xs": (23, 256, 136, (0,), (3e-5,)),
         "q4_1": (3, 32, 20, (0, 2), (6e-3, -4.5e-2)), "q5_0": (6, 32, 22, (0,), (6e-3,)), "q5_1": (7, 32, 24, (0, 2), (3e-3, -4.5e-2)),
         "iq4_nl": (20, 32, 18, (0,), (8e-4,))}
FEW, MANY = {"attn_q": "q4_K", "attn_k": "q4_K", "attn_v": "q6_K"}, {"attn_q": "q4_K", "attn_k": "q5_K", "attn_v": "q6_K"}


def blocks(kind, count, draw):
    _, numbers, size, places, values = TYPES[kind]
    out = bytearray(draw.randbytes(count // numbers * size))
    for i in range(count // numbers):
        for place, value in zip(places, values):
            struct.pack_into("<e", out, i * size + place, value)
    return bytes(out)


def gguf(path, tied, blocks_in_layers=True, experts=0, instead=(), own=()):
    """A Llama of two layers with random blocks: the second has a type each for queries, keys and values. Or layers of f32. With experts, three of them for
    each token. `instead`: a type in place of another; `own`: types of some matrices."""
    draw = random.Random(3)
    meta = {"general.architecture": "llama", "llama.context_length": 64, "llama.embedding_length": C, "llama.block_count": 2, "llama.feed_forward_length": F,
            "llama.attention.head_count": HEADS, "llama.attention.head_count_kv": KV, "llama.attention.layer_norm_rms_epsilon": 1e-5, "llama.vocab_size": V,
            **({"llama.expert_count": experts, "llama.expert_used_count": 3} if experts else {})}
    shapes = {"token_embd": ("q6_K" if tied else "q4_K", V, C), "output_norm": (None, C)}
    if not tied:
        shapes["output"] = ("q6_K", V, C)
    for layer, kinds in enumerate((FEW, MANY)):
        rows = {"attn_q": (C, C), "attn_k": (C // HEADS * KV, C), "attn_v": (C // HEADS * KV, C), "attn_output": (C, C), "ffn_gate": (F, C), "ffn_up": (F, C),
                "ffn_down": (C, F)}
        if experts:
            rows = {name: shape for name, shape in rows.items() if not name.startswith("ffn")}
            rows.update({"ffn_gate_exps": (experts, F, C), "ffn_up_exps": (experts, F, C), "ffn_down_exps": (experts, C, F)})
            shapes[f"blk.{layer}.ffn_gate_inp"] = (None, experts, C)
        for name, shape in rows.items():
            shapes[f"blk.{layer}.{name}"] = ((kinds | dict(own)).get(name, "q6_K" if name.startswith("ffn_down") else "q4_K") if blocks_in_layers else None, *shape)
        shapes[f"blk.{layer}.attn_norm"] = shapes[f"blk.{layer}.ffn_norm"] = (None, C)
    arrays, matrices = {}, 0
    for name, (kind, *shape) in shapes.items():
        kind, count = dict(instead).get(kind, kind), math.prod(shape)
        held = blocks(kind, count, draw) if kind else struct.pack(f"<{count}f", *[1 / len(shape) ** 5 + (i % 7 - 3) / 8 for i in range(count)])
        matrices += len(held) if kind else 0
        arrays[f"{name}.weight"] = shape, TYPES[kind][0] if kind else 0, held
    return write_gguf(path, meta, arrays), matrices


def dump(folder, model, device, *options, env=None):
    path = folder / "o.safetensors"
    run("dump", "-d", device, "-q", "-m", model, *IDS, *options, "-o", path, env=env)
    return path.read_bytes(), read_safetensors(path)["logits"][1]


def distance(got, wanted):
    """The root mean square of the difference, in units of that of what is wanted."""
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(got, wanted)) / sum(b * b for b in wanted))


def test_memory(folder):
    """Beside the matrices there are five vectors and the table of frequencies."""
    model, matrices = gguf(folder / "m.gguf", True)
    told = json.loads(run("info", "--json", model).text)
    equal(matrices < told["weight_bytes"] <= matrices + 5 * C * 4 + C // HEADS * 2, True, told["weight_bytes"] - matrices)
    equal(told["matrices kept as"], "q6_K (5), q4_K (6), q5_K (1)")
    wide = json.loads(run("info", "--json", model, "--dtype", "f32").text)
    assert wide["weight_bytes"] > 5 * told["weight_bytes"], wide["weight_bytes"]


def test_gate_and_up_of_different_types(folder):
    """As one matrix they become f32, and a warning says so."""
    one = 2 * F * C * 4 / 2**20
    for experts, gate in ((0, "ffn_gate"), (EXPERTS, "ffn_gate_exps")):
        mixed, _ = gguf(folder / "mixed.gguf", False, experts=experts, own={gate: "q5_K"})
        told = lambda model, *options: run("generate", "-d", "reference", "-m", model, "--ids", "1", "-n", "1", "--temp", "0", *options).err
        stored, times = F * C * (TYPES["q4_K"][2] + TYPES["q5_K"][2]) / 256 / 2**20, max(experts, 1)
        said = f"2 matrices become f32, {2 * one * times:.1f} MiB in place of {2 * stored * times:.1f} MiB, because their parts (such as gate and up) have blocks of"
        equal(told(mixed).count(said), 1, said)
        for err in told(mixed, "--dtype", "q8"), told(mixed, "-q"), told(gguf(folder / "alike.gguf", False, experts=experts)[0]):
            assert "become" not in err, err


def test_on_the_reference_device(folder):
    """It makes a norm that one product reads a part of it, without a rounding; here several products read one."""
    model, _ = gguf(folder / "m.gguf", False)
    wanted = dump(folder, model, "reference", "--dtype", "f32", "--kv-dtype", "f32")[1]
    assert distance(dump(folder, model, "reference", "--compute", "f32", "--kv-dtype", "f32")[1], wanted) < 1e-6
    assert 1e-4 < distance(dump(folder, model, "reference", "--kv-dtype", "f32")[1], wanted) < 0.05  # measured 0.016


def test_on_a_device(folder):
    if not has_device():
        print(f"       SKIP: no device {DEVICE}")
        return
    model, _ = gguf(folder / "m.gguf", True)
    wide, wanted = dump(folder, model, DEVICE, "--dtype", "f32", "--kv-dtype", "f32")
    equal(dump(folder, model, DEVICE, "--compute", "f32", "--kv-dtype", "f32")[0] == wide, True, "the bytes of the numbers in f32")
    assert 1e-4 < distance(dump(folder, model, DEVICE, "--kv-dtype", "f32")[1], wanted) < 0.05


def adapters(folder):
    """Two for a Llama of gguf's shapes: of all layers' matrices, and of some."""
    q, kv = (C, C), (C // HEADS * KV, C)
    shapes = {"self_attn.q_proj": q, "self_attn.k_proj": kv, "self_attn.v_proj": kv, "self_attn.o_proj": q, "mlp.gate_proj": (F, C), "mlp.up_proj": (F, C),
              "mlp.down_proj": (C, F)}
    return [write_adapter(folder / name, {f"model.layers.{layer}.{module}": shapes[module] for layer in range(2) for module in modules}, size=size, **settings)[0]
            for name, modules, size, settings in (("all", shapes, 0.05, {}),
                                                  ("some", ["self_attn.v_proj", "mlp.gate_proj"], 0.1, {"rank": 5, "seed": 2, "use_rslora": True}))]


def test_adapters(folder):
    """They are added beside the products, so matrices stay in blocks; the logits are those of numbers to which they are added."""
    every, some = adapters(folder)
    for tied in due((True, False)):
        model, _ = gguf(folder / "m.gguf", tied)
        told, alone = (json.loads(run("info", "--json", model, *options).text) for options in (("--lora", every, "--lora", some), ()))
        kv = C // HEADS * KV
        ranks = [(6, C, C + kv), (3, C, C), (3, C, kv)] + 2 * [(8, C, kv), (3, C, C), (11, C, 2 * F), (3, F, C)]  # R, inputs, outputs
        equal(told["weight_bytes"], alone["weight_bytes"] + sum(4 * rank * (inputs + outputs) for rank, inputs, outputs in ranks))
        assert told["matrices kept as"].startswith(alone["matrices kept as"]), (told["matrices kept as"], alone["matrices kept as"])
        for device in ["reference"] + [DEVICE] * has_device():
            base = dump(folder, model, device, "--compute", "f32", "--kv-dtype", "f32")[1]
            for chosen in ((every,), (some,), (every, some)):
                lora = [word for folder_of in chosen for word in ("--lora", folder_of)]
                wanted = dump(folder, model, device, "--dtype", "f32", "--kv-dtype", "f32", *lora)[1]
                got = dump(folder, model, device, "--compute", "f32", "--kv-dtype", "f32", *lora)[1]
                assert distance(got, wanted) < 1e-5 < 1e-2 < distance(got, base), (device, chosen, distance(got, wanted), distance(got, base))
                assert 1e-4 < distance(dump(folder, model, device, "--kv-dtype", "f32", *lora)[1], wanted) < 0.05


def test_other_types(folder):
    """Those of Q2_K, Q3_K and IQ4_XS files, and those of 32, which files have where rows are not multiples of 256."""
    gpu = environment(OPENCL_LAYERS=BUILD / "tests/gpu_layer.so", TSR_GPU_GROUP=256, TSR_GPU_DOT=1, TESSERA_TRUST_DRIVERS=1, TESSERA_CACHE=folder / "cache",
                      POCL_EXTRA_BUILD_FLAGS="-cl-opt-disable")
    places = [("reference", None)] + ([(DEVICE, None)] if has_device() else []) + ([("pocl", gpu)] if has_device("pocl") else [])
    for instead, kept in due((({"q4_K": "q3_K", "q5_K": "q5_0", "q6_K": "iq4_nl"}, "q3_K (7), iq4_nl (5), q5_0 (1)"),
                              ({"q4_K": "q2_K", "q6_K": "iq4_xs"}, "q2_K (7), iq4_xs (5), q5_K (1)"),
                              ({"q4_K": "q4_1", "q5_K": "q5_0", "q6_K": "q5_1"}, "q4_1 (7), q5_1 (5), q5_0 (1)"))):
        model, matrices = gguf(folder / "m.gguf", False, instead=instead)
        told = json.loads(run("info", "--json", model).text)
        equal(told["matrices kept as"], kept)
        assert told["weight_bytes"] <= 1.02 * matrices + 5 * C * 4, (told["weight_bytes"], matrices)
        for device, env in places:
            wide, wanted = dump(folder, model, device, "--dtype", "f32", "--kv-dtype", "f32", env=env)
            held, got = dump(folder, model, device, "--compute", "f32", "--kv-dtype", "f32", env=env)
            assert held == wide if device != "reference" else distance(got, wanted) < 1e-6, device
            assert 1e-4 < distance(dump(folder, model, device, "--kv-dtype", "f32", env=env)[1], wanted) < 0.05, device
        told = run("explain", "-m", model, "-d", "pocl", env=gpu).text if places[-1][1] else "-> linear/int8_direct_dot:"
        assert "-> linear/int8_direct_dot:" in told and "-> linear/plain" not in told, told


def test_mxfp4_in_memory(_):
    """Both forms take what the file has, and say so: but for the table of frequencies, all is stored as it is."""
    held, begin = header(MXFP4 / "model.safetensors")
    stored = (MXFP4 / "model.safetensors").stat().st_size - begin
    for model in (MXFP4, MXFP4 / "model.gguf"):
        told = json.loads(run("info", "--json", model).text)
        assert "mxfp4 (4)" in told["matrices kept as"] and "int8 of mxfp4 (auto" in told["products"], told
        equal(told["stored_bytes"], stored)
        assert stored <= told["weight_bytes"] <= 1.02 * stored, (told["weight_bytes"], stored)


def test_mxfp4_on_devices(folder):
    """The bytes of the same numbers kept as f32, from both files; with products of bytes near them, the same by every kernel of a device."""
    plain = ("--kernels", "expert_glu_linear=plain,expert_linear=plain")
    gpu = environment(OPENCL_LAYERS=BUILD / "tests/gpu_layer.so", TSR_GPU_GROUP=256, TSR_GPU_DOT=1, TESSERA_TRUST_DRIVERS=1, TESSERA_CACHE=folder / "cache",
                      POCL_EXTRA_BUILD_FLAGS="-cl-opt-disable")
    places = [("reference", None)] + ([(DEVICE, None)] if has_device() else []) + ([("pocl", gpu)] if has_device("pocl") else [])
    for device, env in places:
        f32 = lambda model, *options: dump(folder, model, device, "--kv-dtype", "f32", *options, env=env)
        wide, wanted = f32(MXFP4, "--dtype", "f32")
        for model in (MXFP4, MXFP4 / "model.gguf"):
            equal(f32(model, "--compute", "f32")[0] == wide, True, (device, "the bytes of the numbers in f32"))
            eight, got = f32(model)
            assert 1e-4 < distance(got, wanted) < 0.05, (device, distance(got, wanted))
            if device != "reference":
                equal(f32(model, *plain)[0] == eight, True, (device, "plain kernels give other bytes"))
        if env:
            told = run("explain", "-m", MXFP4, "-d", "pocl", env=gpu).text
            for op in ("expert_glu_linear", "expert_linear"):
                assert f"-> {op}/int8_direct_dot:" in told and f"-> {op}/plain" not in told, told


def test_mxfp4_without_a_scale(folder):
    """The exponent 255 is a NaN."""
    model = copy_model(MXFP4, folder / "nan")
    held, begin = header(model / "model.safetensors")
    name = "model.layers.1.mlp.experts.down_proj_"
    data = bytearray((model / "model.safetensors").read_bytes())
    data[begin + held[name + "scales"]["data_offsets"][0] + 3] = 255
    (model / "model.safetensors").write_bytes(data)
    for dtype in ((), ("--dtype", "f32"), ("--dtype", "q8")):
        refused(3, name + "blocks", "generate", "-d", "reference", "-m", model, "--ids", "1", "-n", "1", *dtype)


def test_on_a_gpu(folder):
    """Kept, too, with int8 products or those of floats."""
    if not has_device("pocl"):
        print("       SKIP: pocl is not here")
        return
    model, _ = gguf(folder / "m.gguf", True)
    gpu = environment(OPENCL_LAYERS=BUILD / "tests/gpu_layer.so", TSR_GPU_GROUP=256, TSR_GPU_DOT=1, TESSERA_TRUST_DRIVERS=1, TESSERA_CACHE=folder / "cache",
                      POCL_EXTRA_BUILD_FLAGS="-cl-opt-disable")
    for options, kernel in (((), "int8_direct_dot"), (("--compute", "f32"), "few_float")):
        told = run("explain", "-m", model, "-d", "pocl", *options, env=gpu).text
        assert "matrices kept as: q6_K (5), q4_K (6), q5_K (1)\n" in told and f"-> linear/{kernel}:" in told, (kernel, told[:400])
    wide, wanted = dump(folder, model, "pocl", "--dtype", "f32", env=gpu)
    equal(dump(folder, model, "pocl", "--compute", "f32", env=gpu)[0] == wide, True, "the bytes of the numbers in f32")
    assert 1e-4 < distance(dump(folder, model, "pocl", env=gpu)[1], wanted) < 0.05


def test_in_several_buffers(folder):
    """The matrices of the feed-forward part have 105 and 144 KiB; a layer reports buffers of 80 kB, and refuses larger ones."""
    if not has_device("pocl"):
        print("       SKIP: pocl is not here")
        return
    model, _ = gguf(folder / "m.gguf", False)
    asked = ("generate", "-m", model, "-d", "pocl", "--ids", "1,2,3,4,5,6,7", "-c", "16", "-n", "8", "--temp", "0", "--ignore-eos", "--logprobs", "3")
    for layers in ((), ("gpu",)):
        parts = run(*asked, env=environment(**small_buffers(80000, *layers)))
        equal(parts.out, run(*asked, env=environment(OPENCL_LAYERS=BUILD / "tests/gpu_layer.so" if layers else None)).out, layers)
        assert "reference" not in parts.err, parts.err


def test_what_does_not_fit(folder):
    """What may help is not a larger type: a layer reports buffers that are too small for a token's activations."""
    if not has_device("pocl"):
        print("       SKIP: pocl is not here")
        return
    model, _ = gguf(folder / "m.gguf", True)
    for dtype, remedy in ((None, "MiB: use another device"), ("f32", "use smaller weights (--dtype f16) or another"),
                          ("f16", "smaller weights (--dtype q8) or another"), ("q4", "MiB: use another device")):
        kept = ("--dtype", dtype) if dtype else ()
        told = run("generate", "-m", model, *kept, "-d", "pocl", "--ids", "1", "-c", "8", "-n", "1", env=environment(**small_buffers(4000)), code=4).err
        assert remedy in told, (dtype, told)


def test_experts_on_a_gpu(folder):
    """Products of bytes, too: by work-groups which quantise a token once, and which give a token the same bytes in a prompt, alone, in a batch, and where a
    buffer holds five or six experts."""
    if not has_device("pocl"):
        print("       SKIP: pocl is not here")
        return
    model, _ = gguf(folder / "m.gguf", True, experts=EXPERTS)
    gpu = environment(OPENCL_LAYERS=BUILD / "tests/gpu_layer.so", TSR_GPU_GROUP=256, TSR_GPU_DOT=1, TESSERA_TRUST_DRIVERS=1, TESSERA_CACHE=folder / "cache",
                      POCL_EXTRA_BUILD_FLAGS="-cl-opt-disable")
    told = run("explain", "-m", model, "-d", "pocl", env=gpu).text
    for op in ("expert_glu_linear", "expert_linear"):
        assert f"-> {op}/int8_direct_dot:" in told and f"-> {op}/plain" not in told, told
    many = [str(1 + i * 7 % (V - 1)) for i in range(64)]
    ids = lambda *prompts: [word for prompt in prompts for word in ("--ids", ",".join(prompt))]

    def logits(prompts, *options, device="pocl", env=gpu):
        path = folder / "o.safetensors"
        told = run("dump", "-d", device, "-q", "-m", model, *ids(*prompts), *options, "-o", path, env=env).err
        assert "small_layer:" not in told, told
        shape, values = read_safetensors(path)["logits"]
        equal(shape[-1], V)
        return [values[i:i + V] for i in range(0, len(values), V)]

    prompt = logits([many])
    for n in (1, 2, 5, 12):
        equal(logits([many[:n]]) == prompt[:n], True, f"the first {n} tokens have other bytes alone")
    equal(logits([many[:1]] * 5) == prompt[:1] * 5, True, "a token has other bytes in a batch")
    small = gpu | small_buffers(750000, "gpu")
    for n in (5, 20):
        equal(logits([many[:n]], env=small) == prompt[:n], True, f"{n} tokens have other bytes by parts of the experts")
    equal(logits([many], "--kernels", "expert_glu_linear=plain,expert_linear=plain") == prompt, True, "plain kernels give other bytes")
    wide = logits([many], "--dtype", "f32", "--kv-dtype", "f32", device="reference")
    far = sorted(map(distance, prompt, wide))  # a token that stands between two experts may go to the other one: 3 of 64 are 0.05 to 0.45 away
    assert 1e-4 < far[0] and far[len(far) * 9 // 10] < 0.05, far  # measured 0.008 and 0.02


def test_few_blocks(folder):
    """Where most numbers are floats, as where the layers have types that become f32, products with the other blocks are of f32, too."""
    model, _ = gguf(folder / "m.gguf", True, blocks_in_layers=False)
    told = json.loads(run("info", "--json", model).text)
    equal(told["matrices kept as"], "q6_K (1), f32 (8)")
    equal(told["products"], "f32 of q6_K, f32 of f32 (auto: f32, because most numbers of the matrices are floats)")
    equal(dump(folder, model, "reference")[0] == dump(folder, model, "reference", "--compute", "f32")[0], True, "the bytes of --compute f32")


def test_an_adapters_matrix_in_place_of_blocks(folder):
    """--dtype q8 makes blocks of it, too, where the file's own blocks would only be written in another way."""
    model, _ = gguf(folder / "m.gguf", False, instead={"q4_K": "q5_0"}.items())
    draw, (lora, _) = random.Random(5), write_adapter(folder / "lora", {"model.layers.0.mlp.up_proj": (F, C)}, size=0.05)
    arrays = read(lora / "adapter_model.safetensors")
    arrays["base_model.model.model.layers.1.mlp.up_proj.weight"] = [F, C], [draw.uniform(-0.05, 0.05) for _ in range(F * C)]
    write(lora / "adapter_model.safetensors", arrays)
    got, wanted = (dump(folder, model, "reference", "--lora", lora, "--compute", "f32", "--dtype", dtype)[1] for dtype in ("q8", "f32"))
    assert 0 < distance(got, wanted) < 0.05, distance(got, wanted)


def test_the_model_of_chat(folder):
    """Blocks of the model that chat uses are multiplied as floats, unless something else is asked for."""
    place = folder / "SmolLM2-135M-Instruct"
    place.mkdir()
    model, _ = gguf(place / "m.gguf", True)
    products = lambda *words: json.loads(run("info", "--json", "-m", *words).text)["products"]
    for name in place, f"{place}/", f"{place}//":
        equal(products(name).partition(" of ")[0], "f32", name)
    assert "auto: f32, because its answers are then those of transformers" in products(place), products(place)
    for words in ((place, "--compute", "int8"), (place, "--dtype", "q8"), (model,)):
        equal(products(*words).partition(" of ")[0], "int8", words)


main(globals())
