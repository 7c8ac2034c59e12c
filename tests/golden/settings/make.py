#!/usr/bin/env python3
"""Makes cases.json: what transformers' `generate` finds by the settings of a model's folder alone, where they are in
generation_config.json, in config.json (as files made before the first keep them), or in both; and keys.json: every key
of its GenerationConfig with the default.

    python3 make.py        (needs torch, transformers)

A case is what is added to config.json of a model (a tiny Marian and a tiny BART beside this file, decoders of ../models), the
generation_config.json or null, a prompt, and the hypotheses, best first: ids (without prompt or start token, end included) and score.
Everything is computed in float64; a case is kept only where models whose weights moved by a relative 2e-6 find the same, so that ids
can be exact.
"""
import json
import shutil
import sys
import tempfile
from pathlib import Path

import torch
import transformers as tr

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "models"))
from found import hypotheses, nudged  # noqa: E402
from make import Exact64, randomize  # noqa: E402

SIZES = dict(vocab_size=37, d_model=16, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2,
             encoder_ffn_dim=24, decoder_ffn_dim=24, max_position_embeddings=40)
MODELS = {
    "marian": (tr.MarianMTModel, tr.MarianConfig(**SIZES, pad_token_id=36, eos_token_id=0, decoder_start_token_id=36, forced_eos_token_id=None,
                                                 scale_embedding=True)),
    "bart": (tr.BartForConditionalGeneration, tr.BartConfig(**SIZES, pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2,
                                                            forced_eos_token_id=None)),
}
ONE = {"forced-first": [8]}   # prompts of a case alone
PROMPTS = {"marian": [5, 9, 30, 7, 22, 0], "bart": [0, 11, 8, 31, 17, 2], "gpt2-tiny": [7, 19, 33], "llama-tiny": [9, 44, 21, 6]}
torch.set_num_threads(1)
tr.utils.logging.disable_progress_bar()


def search_settings(name):
    """Name, what config.json has more, generation_config.json."""
    pad = 36 if name == "marian" else 1
    old = dict(num_beams=4, max_length=14, bad_words_ids=[[pad]], no_repeat_ngram_size=2, length_penalty=0.6, early_stopping=True)
    yield "old", old, None
    yield "old-beams", dict(num_beams=3, max_length=9), None
    yield "old-bad-words", dict(num_beams=1, max_length=12, bad_words_ids=[[pad], [11], [4, 8]]), None
    yield "old-ngram", dict(num_beams=2, max_length=16, no_repeat_ngram_size=1), None
    yield "old-length", dict(num_beams=4, max_length=12, length_penalty=-1.5), None
    yield "old-never", dict(num_beams=4, max_length=12, early_stopping="never", length_penalty=2.0), None
    yield "old-penalty", dict(num_beams=1, max_length=14, repetition_penalty=1.7), None
    yield "old-reward", dict(num_beams=3, max_length=14, repetition_penalty=0.6), None
    yield "old-forced", dict(num_beams=3, max_length=8, forced_bos_token_id=13, forced_eos_token_id=2), None
    yield "old-forced-flag", dict(num_beams=1, max_length=8, bos_token_id=3, force_bos_token_to_be_generated=True), None
    yield "old-least", dict(num_beams=4, max_length=14, min_length=9), None
    yield "old-start", dict(num_beams=2, max_length=10, decoder_start_token_id=17), None
    yield "old-renormalize", dict(num_beams=4, max_length=14, bad_words_ids=[[pad], [11], [20]], renormalize_logits=True), None
    yield "old-renormalize-penalty", dict(num_beams=3, max_length=14, repetition_penalty=1.5, renormalize_logits=True), None
    yield "old-renormalize-ngram", dict(num_beams=3, max_length=14, no_repeat_ngram_size=1, renormalize_logits=True), None
    yield "old-null", dict(num_beams=None, max_length=11, length_penalty=None), None
    ends = dict(eos_token_id=[0, 2], bos_token_id=3, pad_token_id=pad)
    new = dict(ends, decoder_start_token_id=36 if name == "marian" else 2)
    yield "new", {}, dict(new, **old)
    yield "new-alone", dict(num_beams=5, no_repeat_ngram_size=1, length_penalty=3.0, forced_bos_token_id=9), dict(new, max_length=12)
    yield "new-start", {}, dict(ends, num_beams=2, max_length=10, decoder_start_token_id=21)
    yield "new-start-bos", {}, dict(ends, num_beams=2, max_length=10)
    yield "new-end", {}, dict(new, eos_token_id=[14, 6, 25, 9], num_beams=3, max_length=20)
    yield "new-not-first", {}, dict(new, num_beams=1, max_length=8, begin_suppress_tokens=[4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15])
    yield "new-not-second", {}, dict(new, num_beams=1, max_length=8, forced_bos_token_id=13, begin_suppress_tokens=list(range(4, 30)))
    yield "new-not-second-beams", {}, dict(new, num_beams=3, max_length=8, forced_bos_token_id=13, begin_suppress_tokens=list(range(4, 30)))
    yield "new-least-both", {}, dict(new, num_beams=3, max_length=14, min_length=12, min_new_tokens=3)
    yield "new-least-none", {}, dict(new, num_beams=3, max_length=14, min_length=12, min_new_tokens=0)
    yield "new-bad-first", {}, dict(new, num_beams=1, max_length=8, bad_words_ids=[[new["decoder_start_token_id"], i] for i in range(3, 25)])
    yield "new-renormalize", {}, dict(new, num_beams=4, max_length=14, min_length=8, suppress_tokens=[7, 12], begin_suppress_tokens=[9],
                                      renormalize_logits=True, length_penalty=0.5)


def decoder_settings(name):
    plain = dict(do_sample=False, eos_token_id=2)
    for beams in (1, 3):
        g = dict(plain, num_beams=beams)
        yield f"old-longest-{beams}", dict(g, max_length=11), None
        yield f"longest-{beams}", {}, dict(g, max_length=11)
        yield f"longest-new-{beams}", {}, dict(g, max_length=30, max_new_tokens=6)
        ends = dict(g, eos_token_id=list(range(5, 61, 4)))
        yield f"least-{beams}", {}, dict(ends, max_length=16, min_length=9)
        yield f"old-least-{beams}", dict(ends, max_length=16, min_length=9), None
        yield f"least-new-{beams}", {}, dict(ends, max_length=16, min_new_tokens=4)
        yield f"least-both-{beams}", {}, dict(ends, max_length=16, min_length=15, min_new_tokens=2)
        yield f"suppressed-{beams}", {}, dict(g, max_length=14, suppress_tokens=list(range(20, 50)), begin_suppress_tokens=list(range(3, 20)))
        yield f"old-suppressed-{beams}", dict(g, max_length=14, suppress_tokens=list(range(20, 50))), None
        yield f"penalty-{beams}", {}, dict(g, max_length=16, repetition_penalty=2.5)
        yield f"reward-{beams}", {}, dict(g, max_length=16, repetition_penalty=0.4)
        yield f"forced-end-{beams}", {}, dict(g, max_length=10, forced_eos_token_id=5)
        yield f"ngram-{beams}", dict(g, max_length=18, no_repeat_ngram_size=2), None
        yield f"bad-words-{beams}", {}, dict(g, max_length=12, bad_words_ids=[[i] for i in range(4, 30)] + [[31, 32], [40, 41]])


    drawn = dict(do_sample=True, num_beams=1, eos_token_id=2, max_length=14)    # of one token that is left
    yield "top-k", {}, dict(drawn, top_k=1)
    yield "top-p", dict(drawn, top_p=1e-6, top_k=0), None
    yield "min-p", {}, dict(drawn, min_p=1.0, top_k=0)
    yield "temperature", {}, dict(drawn, temperature=1e-6, top_k=0)
    yield "other-ends", dict(eos_token_id=list(range(5, 61, 4))), dict(drawn, top_k=1)
    yield "old-ends", dict(drawn, top_k=1, eos_token_id=list(range(60, 3, -4)), max_length=20), None
    yield "max-length-none", {}, dict(drawn, top_k=1, max_length=None, max_new_tokens=9)
    yield "forced-first", dict(plain, max_length=9, forced_bos_token_id=13), None


def make_models():
    for seed, (name, (kind, config)) in enumerate(MODELS.items()):
        folder = HERE / name
        model = kind(config).eval()
        randomize(model, 40 + seed)
        for module in model.modules():                     # sinusoids are no weights
            if hasattr(module, "create_weight"):
                module.weight.data.copy_(module.create_weight())
        model.final_logits_bias.copy_(torch.randn(model.final_logits_bias.shape, generator=torch.Generator().manual_seed(seed)) * 0.3)
        shutil.rmtree(folder, ignore_errors=True)
        model.half().save_pretrained(folder)
        (folder / "generation_config.json").unlink(missing_ok=True)


def write(folder, weights, config, more, generation):
    """What is null in `more` is null in the file; a key that the model's own config.json has is replaced."""
    (folder / "model.safetensors").symlink_to(weights)
    (folder / "config.json").write_text(json.dumps({**config, **more}))
    if generation is not None:
        (folder / "generation_config.json").write_text(json.dumps(generation))


def load(weights, config, more, generation):
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), weights, config, more, generation)
        kind = tr.AutoModelForSeq2SeqLM if config.get("is_encoder_decoder") else tr.AutoModelForCausalLM
        return kind.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").double().eval()


def find(model, prompt):
    beams = model.generation_config.num_beams or 1
    ids = torch.tensor([prompt])
    with torch.no_grad(), Exact64():
        r = model.generate(ids, attention_mask=torch.ones_like(ids), num_return_sequences=beams, use_cache=False,
                           return_dict_in_generate=True, output_scores=True)
    seq2seq = model.config.is_encoder_decoder
    first = 1 if seq2seq else len(prompt)
    g = model.generation_config
    ends = g.eos_token_id if isinstance(g.eos_token_id, list) else [g.eos_token_id]
    most = g.max_new_tokens or g.max_length - first
    return hypotheses(r, first, ends, most, beams > 1)


def cases_of(name):
    own = name in MODELS
    folder = HERE / name if own else HERE.parent / "models" / name
    config = json.loads((folder / "config.json").read_text())
    for title, more, generation in (search_settings if own else decoder_settings)(name):
        model = load(folder / "model.safetensors", config, more, generation)
        prompt = ONE.get(title, PROMPTS[name])
        found = find(model, prompt)
        ids = [h["ids"] for h in found]
        if any([h["ids"] for h in find(nudged(model, s), prompt)] != ids for s in (7, 8)):
            print(f"{name} {title}: a near tie, left out")
            continue
        yield {"name": f"{name}.{title}", "model": name, "config": more, "generation_config": generation, "input_ids": prompt,
               "hypotheses": found}


def keys():
    defaults = tr.GenerationConfig._get_default_generation_params()
    return {key: defaults.get(key) for key in vars(tr.GenerationConfig()) if key not in ("_from_model_config", "transformers_version")}


make_models()
cases = [case for name in PROMPTS for case in cases_of(name)]
(HERE / "cases.json").write_text("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")
(HERE / "keys.json").write_text(json.dumps({"transformers": tr.__version__, "keys": keys()}, indent=0) + "\n")
for path in HERE.rglob("*.*"):
    path.chmod(0o644)
print(len(cases), "cases")
