#!/usr/bin/env python3
"""Makes the tiny CTranslate2 folders of this place: random seeded weights of models of transformers through CTranslate2's own
converters, each in another precision, and what CTranslate2 itself computes with them in float32.

    python3 make.py [--keep] [NAME...]       (needs ctranslate2, torch, transformers, numpy)

--keep: keeps the models, and computes the results anew.

Each folder has model.bin, config.json and its vocabularies as the converter writes them, and cases.json: for an encoder-decoder
`source` and `target` (ids; the target without the start token, with its end) and the `log_probs` of each of its tokens; `greedy`, at
most 12 ids. beams.json: texts, and what a beam search with CTranslate2's defaults finds: the hypotheses, best first, with their scores; only
texts of which a hypothesis ends before the greatest length, and no two are a near tie. options.json: the same
with options of Translator.translate_batch; `alignment`: the layer and the number of heads that the coverage penalty reads, in place of those
that model.bin names. For a decoder `ids` and `logits` of each token; for an encoder `ids`, `hidden` (after the last layer) and `pooled`.
"""
import json
import shutil
import struct
import sys
import tempfile
from pathlib import Path

import ctranslate2
import numpy as np
import torch
import transformers as tr
from ctranslate2.converters import transformers as loaders

HERE = Path(__file__).parent
STEPS = 12
BEAMS, LONGEST, SEARCHED = 4, 16, 24
torch.set_num_threads(1)
WORDS = 40
SIDE = dict(d_model=16, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=24,
            decoder_ffn_dim=24, max_position_embeddings=20, vocab_size=WORDS, bos_token_id=1, eos_token_id=2, pad_token_id=0,
            decoder_start_token_id=2, scale_embedding=True)


class Tokenizer:
    """What the converters ask of a tokenizer."""

    bos_token, eos_token, unk_token, pad_token = "<s>", "</s>", "<unk>", "<pad>"
    unk_token_id, special_tokens_map = 3, {}

    def __init__(self, words, pad_last=False):
        self.words = ["<pad>", "<s>", "</s>", "<unk>"] + [f"w{i}" for i in range(words - 4)]
        if pad_last:
            self.words = self.words[1:] + ["<pad>"]

    def get_vocab(self):
        return {word: i for i, word in enumerate(self.words)}

    def convert_ids_to_tokens(self, i):
        return self.words[i]


def loader(config):
    return loaders._MODEL_LOADERS[type(config).__name__]


def convert(model, tokenizer):
    """The specification of a model; spread its weights first, so that outputs are no near ties."""
    torch.manual_seed(sum(map(ord, type(model).__name__)))
    for name, parameter in model.named_parameters():
        if "norm" in name.lower():
            parameter.data += 0.2 * torch.randn_like(parameter)
        elif "positions" not in name:
            parameter.data = 0.35 * torch.randn_like(parameter)
    with torch.no_grad():
        return loader(model.config)(model.eval(), tokenizer)


def opennmt():
    """Pre-norm with positions computed, and two vocabularies."""
    spec = convert(tr.M2M100ForConditionalGeneration(tr.M2M100Config(**SIDE)), Tokenizer(WORDS))
    for side in spec.encoder, spec.decoder:
        side.position_encodings.encodings = ctranslate2.specs.model_spec.OPTIONAL
    generator = np.random.default_rng(1)
    spec.encoder.embeddings[0].weight = generator.normal(0, 0.35, (29, 16)).astype(np.float32)
    spec._vocabularies["source"] = [Tokenizer(29).words]
    spec.config.add_source_eos = True
    return spec


def first():
    """As the first releases wrote it: eight heads, pre-norm, positions computed, two vocabularies; text files for both, and no config."""
    config = tr.M2M100Config(**{**SIDE, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 8, "decoder_attention_heads": 8})
    spec = convert(tr.M2M100ForConditionalGeneration(config), Tokenizer(WORDS))
    for side in spec.encoder, spec.decoder:
        side.position_encodings.encodings = ctranslate2.specs.model_spec.OPTIONAL
    return spec


def marian():
    """Post-norm, swish, stored sinusoids, a start of zeros."""
    config = tr.MarianConfig(**{**SIDE, "pad_token_id": WORDS - 1, "eos_token_id": 1, "decoder_start_token_id": WORDS - 1},
                             activation_function="swish")
    model = tr.MarianMTModel(config)
    model.final_logits_bias = 0.3 * torch.randn(1, WORDS, generator=torch.Generator().manual_seed(5))
    return convert(model, Tokenizer(WORDS, pad_last=True))


def t5():
    """RMS norms, gated GELU, a bias by distance, heads that are not the width's share, an output of its own."""
    config = tr.T5Config(vocab_size=WORDS, d_model=16, d_kv=6, d_ff=24, num_layers=2, num_heads=4, relative_attention_num_buckets=8,
                         relative_attention_max_distance=12, feed_forward_proj="gated-gelu", tie_word_embeddings=False, pad_token_id=0,
                         eos_token_id=2, decoder_start_token_id=0, dropout_rate=0.0)
    return convert(tr.T5ForConditionalGeneration(config), Tokenizer(WORDS))


def bart():
    """Post-norm, a norm of the embedding, learned positions; the output is the embedding."""
    config = tr.BartConfig(**{**SIDE, "scale_embedding": False}, activation_function="gelu", forced_eos_token_id=None)
    config.normalize_before, config.normalize_embedding = False, True
    return convert(tr.BartForConditionalGeneration(config), Tokenizer(WORDS))


def bert():
    config = tr.BertConfig(vocab_size=WORDS, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24,
                           max_position_embeddings=20)
    config.position_embedding_type = "absolute"
    return convert(tr.BertModel(config), Tokenizer(WORDS))


def gpt2():
    config = tr.GPT2Config(vocab_size=WORDS, n_embd=16, n_layer=2, n_head=4, n_positions=20, bos_token_id=1, eos_token_id=2)
    return convert(tr.GPT2LMHeadModel(config), Tokenizer(WORDS))


def save_version_1(spec, folder):
    """Binary version 1: the variables under OpenNMT-tf's names, and neither settings, aliases nor types."""
    variables, found = {}, spec.variables()
    for name, value in found.items():
        side, *rest = name.split("/")
        old = "/".join(rest)
        for today, then in (("embeddings_0/weight", "w_embs"), ("embeddings/weight", "w_embs"), ("projection", "dense"),
                            ("self_attention", "multi_head" if side == "encoder" else "masked_multi_head"), ("/attention", "/multi_head"),
                            ("layer_norm", "LayerNorm"), ("linear_0", "conv1d"), ("linear_", "conv1d_"), ("weight", "kernel")):
            old = old.replace(today, then)
        value = (found[value] if isinstance(value, str) else value).numpy()
        if value.ndim:
            variables[f"transformer/{side}/{old}:0"] = value
    with open(folder / "model.bin", "wb") as file:
        file.write(struct.pack("<II", 1, len(variables)))
        for name, value in variables.items():
            file.write(struct.pack("<H", len(name) + 1) + name.encode() + b"\0" + bytes([value.ndim]))
            file.write(struct.pack(f"<{value.ndim}I", *value.shape) + struct.pack("<BI", value.itemsize, value.size) + value.tobytes())
    for name in "source", "target":
        (folder / f"{name}_vocabulary.txt").write_text("".join(f"{word}\n" for word in Tokenizer(WORDS).words))


MODELS = {"first": (first, None), "opennmt": (opennmt, None), "marian": (marian, "int8"), "t5": (t5, "int16"), "bart": (bart, "float16"), "bert": (bert, "int8"),
          "gpt2": (gpt2, "bfloat16")}

SEARCHES = "opennmt", "t5"  # end tokens are likely in these
OPTIONS = (dict(repetition_penalty=1.3), dict(repetition_penalty=1.3, beam_size=1), dict(repetition_penalty=0.8, target_prefix="w3 w4", min_decoding_length=5),
           dict(target_prefix="w3", min_decoding_length=2), dict(no_repeat_ngram_size=2), dict(no_repeat_ngram_size=1), dict(coverage_penalty=0.3),
           dict(coverage_penalty=0.3, alignment=[0, 0]), dict(coverage_penalty=0.3, alignment=[0, 2]))


def words_of(folder, name):
    if (folder / f"{name}_vocabulary.txt").is_file():
        return (folder / f"{name}_vocabulary.txt").read_text().split()
    path = folder / f"{name}_vocabulary.json"
    return json.loads((path if path.is_file() else folder / "shared_vocabulary.json").read_text())


def translation_cases(folder):
    source_words, target_words = words_of(folder, "source"), words_of(folder, "target")
    translator = ctranslate2.Translator(str(folder), compute_type="float32", inter_threads=1, intra_threads=1)
    settings = folder / "config.json"
    ends = settings.is_file() and bool(json.loads(settings.read_text())["add_source_eos"])
    cases = []
    for seed, n, m in (0, 1, 3), (1, 6, 5), (2, 9, 8):
        generator = np.random.default_rng(seed)
        source, target = generator.integers(4, 28, n), generator.integers(4, WORDS - 1, m)
        tokens = [source_words[i] for i in source]
        scored = translator.score_batch([tokens], [[target_words[i] for i in target]])[0]
        best = translator.translate_batch([tokens], beam_size=1, max_decoding_length=STEPS, min_decoding_length=0,
                                          return_end_token=True)[0]
        end = target_words.index("</s>")
        cases.append({"source": [int(i) for i in source] + [source_words.index("</s>")] * ends, "target": [int(i) for i in target] + [end],
                      "log_probs": scored.log_probs, "greedy": [target_words.index(t) for t in best.hypotheses[0]]})
    return cases


def beam_cases(folder):
    """Translator.translate_batch with its own defaults but for the number of beams and the greatest length."""
    translator = ctranslate2.Translator(str(folder), compute_type="float32", inter_threads=1, intra_threads=1)
    generator = np.random.default_rng(5)
    cases = []
    while len(cases) < SEARCHED:
        source = [f"w{i}" for i in generator.integers(0, 24, generator.integers(1, 10))]
        found = translator.translate_batch([source], beam_size=BEAMS, max_decoding_length=LONGEST, num_hypotheses=BEAMS, return_scores=True)[0]
        if min(map(len, found.hypotheses)) < LONGEST and min(-np.diff(found.scores)) > 1e-3:
            cases.append({"source": " ".join(source), "hypotheses": [{"text": " ".join(words), "score": score}
                                                                     for words, score in zip(found.hypotheses, found.scores)]})
    return {"num_beams": BEAMS, "max_new_tokens": LONGEST, "cases": cases}


def align(path, layer, heads):
    """Replaces two numbers of a model.bin: behind the name are the rank 0, the type, the size, and the number as int16."""
    data = bytearray(path.read_bytes())
    for name, number in (b"decoder/alignment_layer\0", layer), (b"decoder/alignment_heads\0", heads):
        struct.pack_into("<h", data, data.index(name) + len(name) + 6, number)
    path.write_bytes(data)


def option_cases(folder):
    groups = []
    for group in OPTIONS:
        options, generator, cases = dict(group), np.random.default_rng(6), []
        prefix = {"target_prefix": [options.pop("target_prefix").split()]} if "target_prefix" in options else {}
        with tempfile.TemporaryDirectory() as place:
            model = shutil.copytree(folder, Path(place) / "m")
            if "alignment" in options:
                align(model / "model.bin", *options.pop("alignment"))
            beams = options.setdefault("beam_size", BEAMS)
            translator = ctranslate2.Translator(str(model), compute_type="float32", inter_threads=1, intra_threads=1)
            while len(cases) < 6:
                source = [f"w{i}" for i in generator.integers(0, 24, generator.integers(1, 10))]
                found = translator.translate_batch([source], **options, **prefix, max_decoding_length=LONGEST, num_hypotheses=beams, return_scores=True)[0]
                if beams == 1 or min(-np.diff(found.scores)) > 1e-3:
                    cases.append({"source": " ".join(source), "hypotheses": [{"text": " ".join(words), "score": score}
                                                                             for words, score in zip(found.hypotheses, found.scores)]})
        groups.append({"options": group, "cases": cases})
    return {"num_beams": BEAMS, "max_new_tokens": LONGEST, "groups": groups}


def encoder_cases(folder):
    encoder = ctranslate2.Encoder(str(folder), compute_type="float32", inter_threads=1, intra_threads=1)
    cases = []
    for seed, n in (0, 1), (1, 7), (2, 12):
        ids = np.random.default_rng(seed).integers(4, WORDS, n).tolist()
        result = encoder.forward_batch([ids])
        cases.append({"ids": ids, "hidden": np.array(result.last_hidden_state)[0].tolist(),
                      "pooled": np.array(result.pooler_output)[0].tolist()})
    return cases


def decoder_cases(folder):
    decoder = ctranslate2.Generator(str(folder), compute_type="float32", inter_threads=1, intra_threads=1)
    cases = []
    for seed, n in (0, 1), (1, 7), (2, 12):
        ids = np.random.default_rng(seed).integers(4, WORDS, n).tolist()
        cases.append({"ids": ids, "logits": np.array(decoder.forward_batch([ids]))[0].tolist()})
    return cases


def write(path, results):
    rounded = json.loads(json.dumps(results), parse_float=lambda text: round(float(text), 6))
    path.write_text(json.dumps(rounded) + "\n")


def make(name, folder):
    spec, precision = MODELS[name][0](), MODELS[name][1]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    spec.validate()
    spec.optimize(quantization=precision)
    if name == "first":
        save_version_1(spec, folder)
    else:
        spec.save(str(folder))


def main(names):
    keep = "--keep" in names
    for name in [n for n in names if n != "--keep"] or MODELS:
        folder = HERE / name
        if not keep:
            make(name, folder)
        cases = encoder_cases if name == "bert" else decoder_cases if name == "gpt2" else translation_cases
        write(folder / "cases.json", cases(folder))
        if name in SEARCHES:
            write(folder / "beams.json", beam_cases(folder))
            write(folder / "options.json", option_cases(folder))
        print(name, sum(f.stat().st_size for f in folder.iterdir()), "bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
