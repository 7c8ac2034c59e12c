#!/usr/bin/env python3
"""Makes the model of this folder, which writes a line in capitals: a BART of one encoder and one decoder layer over single
characters that reads 40 tokens, trained for a minute; and cases.json, what transformers' `generate` finds for some lines in
float64.

    python3 make.py                 (needs torch, transformers)

Cases are lines with the four best texts of four beams and their scores. Lines whose results a model with slightly moved weights
(a relative 2e-6) finds otherwise are left out.
"""
import json
import random
import sys
from pathlib import Path

import torch
import transformers as tr

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "models"))
from make import Exact64  # noqa: E402

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
SMALL, LARGE = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
VOCAB = SPECIAL + list(" .,!?" + SMALL + LARGE)
READS = 40
torch.manual_seed(5)
random.seed(5)


def tokenizer():
    added = [{"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
             for i, t in enumerate(SPECIAL)]
    end = {"SpecialToken": {"id": "</s>", "type_id": 0}}
    post = {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}, end],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}, end],
            "special_tokens": {"</s>": {"id": "</s>", "ids": [2], "tokens": ["</s>"]}}}
    return {"version": "1.0", "added_tokens": added, "normalizer": None, "pre_tokenizer": None, "post_processor": post,
            "decoder": {"type": "Fuse"},
            "model": {"type": "BPE", "unk_token": "<unk>", "vocab": {t: i for i, t in enumerate(VOCAB)}, "merges": []}}


def line(most):
    text = ""
    while len(text) < 3 or random.random() < 0.9:
        word = "".join(random.choice(SMALL) for _ in range(random.randint(1, 7))) + random.choice(["", "", "", ",", ".", "!", "?"])
        if len(text) + len(word) + 1 > most:
            break
        text += (" " if text else "") + word
    return text or "a"


def ids(text):
    return [VOCAB.index(c) for c in text] + [2]


def batch(n):
    lines = [line(READS - 2) for _ in range(n)]
    pad = lambda rows: torch.tensor([r + [1] * (READS - len(r)) for r in rows])
    source, target = pad([ids(t) for t in lines]), pad([ids(t.upper()) for t in lines])
    return source, (source != 1).long(), target


def train(model):
    steps = 3000
    best = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.01)
    rate = torch.optim.lr_scheduler.OneCycleLR(best, 4e-3, total_steps=steps)
    for step in range(steps):
        source, mask, target = batch(48)
        loss = model(source, attention_mask=mask, labels=target.masked_fill(target == 1, -100)).loss
        best.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        best.step()
        rate.step()
        if step % 500 == 0 or step == steps - 1:
            print(step, round(loss.item(), 4), flush=True)


def search(model, text):
    source = torch.tensor([ids(text)])
    with torch.no_grad(), Exact64():
        r = model.generate(source, attention_mask=torch.ones_like(source), num_beams=4, num_return_sequences=4, early_stopping=False,
                           max_new_tokens=READS - 1, return_dict_in_generate=True, output_scores=True)
    texts = ["".join(VOCAB[t] for t in row.tolist() if t > 3) for row in r.sequences]
    return texts, [s.item() for s in r.sequences_scores]


def main():
    torch.set_num_threads(1)
    config = tr.BartConfig(vocab_size=len(VOCAB), d_model=40, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
                           decoder_attention_heads=2, encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=READS,
                           dropout=0.0, attention_dropout=0.0, activation_dropout=0.0, forced_eos_token_id=None,
                           bos_token_id=0, pad_token_id=1, eos_token_id=2, decoder_start_token_id=2)
    model = tr.BartForConditionalGeneration(config)
    train(model)
    model.eval()
    model.save_pretrained(HERE)
    (HERE / "tokenizer.json").write_text(json.dumps(tokenizer(), ensure_ascii=False))
    exact = model.double()
    moved = tr.BartForConditionalGeneration.from_pretrained(HERE, dtype=torch.float64).eval()
    with torch.no_grad():
        for p in moved.parameters():
            p.mul_(1 + 2e-6 * torch.randn(p.shape, dtype=torch.float64))
    cases = []
    for text in ["hello world.", "a", "is it so?", "one, two, three!"] + [line(READS - 2) for _ in range(16)]:
        texts, scores = search(exact, text)
        if search(moved, text)[0] == texts:
            cases.append({"line": text, "texts": texts, "scores": scores})
    (HERE / "cases.json").write_text('{"cases": [\n' + ",\n".join(map(json.dumps, cases)) + "\n]}\n")
    print(len(cases), "cases;", sum(c["texts"][0] == c["line"].upper() for c in cases), "right")


main()
