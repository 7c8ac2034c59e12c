#!/usr/bin/env python3
"""Makes <model>.json: what transformers' `generate` finds with each setting of searching, on tiny models of ../models.

    python3 make.py [NAME...]       (needs torch, transformers)

Each case is a generation_config.json, a prompt, and the hypotheses, best first: ids (without prompt or start token, end included)
and score. Everything is computed in float64; a case is kept only where two float64 models whose weights moved by a relative
2e-6 find the same, so that ids can be exact.
"""
import json
import sys
from pathlib import Path

import torch
import transformers as tr

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "models"))
from found import hypotheses, nudged  # noqa: E402
from make import Exact64  # noqa: E402

MODELS = ["gpt2-tiny", "llama-tiny", "marian", "bart", "t5"]
STEPS = 16
torch.set_num_threads(1)


def settings(seq2seq, frequent):
    """Named settings; `frequent`: tokens that the model likes, likeliest first."""
    a, b, c, d, e = frequent[:5]
    beam = dict(num_beams=4, eos_token_id=a, max_new_tokens=STEPS)
    yield "true", dict(beam, early_stopping=True)
    yield "false", dict(beam, early_stopping=False, num_beams=5, length_penalty=0.4)
    yield "never", dict(beam, early_stopping="never")
    yield "never-short", dict(beam, early_stopping="never", length_penalty=-0.5)
    yield "long", dict(beam, length_penalty=2.0, num_beams=3)
    yield "no-length", dict(beam, length_penalty=0.0, num_beams=2)
    yield "two-ends", dict(beam, eos_token_id=[a, b], num_beams=3)
    yield "no-end", dict(beam, eos_token_id=None, num_beams=3)
    yield "least", dict(beam, min_new_tokens=6)
    yield "ngram-1", dict(beam, no_repeat_ngram_size=1, num_beams=3)
    yield "ngram-2", dict(beam, no_repeat_ngram_size=2)
    yield "ngram-3", dict(beam, no_repeat_ngram_size=3, early_stopping=True)
    yield "penalty", dict(beam, repetition_penalty=1.3)
    yield "reward", dict(beam, repetition_penalty=0.8, num_beams=3)
    yield "bad-words", dict(beam, bad_words_ids=[[b], [c, c], [d, c, e], [a]])
    yield "suppressed", dict(beam, suppress_tokens=[c, d])
    yield "not-first", dict(beam, begin_suppress_tokens=[a, b, c])
    yield "forced-end", dict(beam, forced_eos_token_id=a, eos_token_id=e, max_new_tokens=6)
    yield "all", dict(beam, early_stopping=True, no_repeat_ngram_size=2, repetition_penalty=1.2, min_new_tokens=3, length_penalty=0.8,
                      suppress_tokens=[d], bad_words_ids=[[b, c]])
    greedy = dict(num_beams=1, eos_token_id=a, max_new_tokens=STEPS)
    yield "greedy", greedy
    yield "greedy-least", dict(greedy, min_new_tokens=5)
    yield "greedy-ngram", dict(greedy, no_repeat_ngram_size=2, eos_token_id=e)
    yield "greedy-penalty", dict(greedy, repetition_penalty=1.4, eos_token_id=e)
    yield "greedy-suppressed", dict(greedy, suppress_tokens=[a, b], begin_suppress_tokens=[c])
    if seq2seq:
        yield "forced-first", dict(beam, forced_bos_token_id=c)
        yield "forced-both", dict(beam, forced_bos_token_id=c, forced_eos_token_id=a, max_new_tokens=6)
        yield "greedy-forced", dict(greedy, forced_bos_token_id=c, forced_eos_token_id=b, max_new_tokens=6)


def find(model, config, prompt, start):
    config = dict(config, do_sample=False, pad_token_id=0)
    if start is not None:
        config["decoder_start_token_id"] = start
    with torch.no_grad(), Exact64():
        model.generation_config = tr.GenerationConfig(**config)
        r = model.generate(prompt, attention_mask=torch.ones_like(prompt), num_return_sequences=config["num_beams"], use_cache=False,
                           return_dict_in_generate=True, output_scores=True)
    first = prompt.shape[1] if start is None else 1
    ends = config["eos_token_id"]
    ends = ends if isinstance(ends, list) else [ends]
    return hypotheses(r, first, ends, config["max_new_tokens"], config["num_beams"] > 1)


def frequent_tokens(model, prompt, start):
    seq = prompt if start is None else torch.tensor([[start]])
    counts = {}
    for _ in range(STEPS):
        with torch.no_grad(), Exact64():
            kw = {"input_ids": seq} if start is None else {"input_ids": prompt, "decoder_input_ids": seq}
            logits = model(**kw).logits[0, -1]
        for token in logits.topk(8).indices.tolist():
            counts[token] = counts.get(token, 0) + 1
        seq = torch.cat([seq, logits.argmax()[None, None]], 1)
    order = sorted((t for t in counts if t > 2), key=lambda t: -counts[t])
    return order[1:3] + order[:1] + order[3:]


def make(name, folder):
    config = json.loads((folder / "config.json").read_text())
    seq2seq = config.get("is_encoder_decoder", False)
    kind = tr.AutoModelForSeq2SeqLM if seq2seq else tr.AutoModelForCausalLM
    model = kind.from_pretrained(folder, dtype=torch.float32).double().eval()
    others = [nudged(model, 7), nudged(model, 8)]
    start = config["decoder_start_token_id"] if seq2seq else None
    cases = []
    for n in (3, 7):
        g = torch.Generator().manual_seed(n)
        prompt = torch.randint(3, config["vocab_size"], (1, n), generator=g)
        for title, setting in settings(seq2seq, frequent_tokens(model, prompt, start)):
            found = find(model, setting, prompt, start)
            ids = [h["ids"] for h in found]
            if any([h["ids"] for h in find(m, setting, prompt, start)] != ids for m in others):
                print(f"{name} {title} {n}: a near tie, left out")
                continue
            if start is not None:
                setting["decoder_start_token_id"] = start
            cases.append({"name": f"{title}.{n}", "generation_config": setting, "input_ids": prompt[0].tolist(), "hypotheses": found})
    text = ",\n".join(json.dumps(c) for c in cases)
    (HERE / f"{name}.json").write_text('{"model": "%s", "cases": [\n%s\n]}\n' % (name, text))
    print(name, len(cases), "cases")


for one in MODELS:
    if len(sys.argv) == 1 or one in sys.argv[1:]:
        make(one, HERE.parent / "models" / one)
