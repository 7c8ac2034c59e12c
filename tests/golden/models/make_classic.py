#!/usr/bin/env python3
"""Makes the tiny golden models from before Hugging Face's families: the Transformer of 2017, and the GRU encoder-decoder with additive
attention at sizes that no vector divides. PyTorch in float64, written from the formulas.

    python3 make_classic.py       (needs torch, safetensors, numpy)

    transformer-base    x = norm(x + part(x)), embeddings times sqrt(width), PE[t, 2i] = sin(t / 10000^(2i / width)), [t, 2i + 1] its cosine
    bahdanau            as make_recurrent.py says

cases.json and expected.safetensors are as make_source.py's. The beam search is a plain one: at each step the 8 best continuations by summed log
probability; one that ends is finished if it is among the first 4, the first 4 others go on; what is alive after 24 tokens is
finished as it is; all finished ones are ranked at the end by their sum / length ** penalty.
"""
import json
import math
import sys
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file

HERE = Path(__file__).parent
PAD, BOS, EOS, LOW, STEPS, BEAMS, GAP = 0, 1, 2, 3, 24, 4, 1e-3
SIZES = {
    "transformer-base": dict(model_type="transformer-base", d_model=16, num_heads=4, d_ff=24, encoder_layers=2, decoder_layers=2,
                             src_vocab_size=37, tgt_vocab_size=37, share_embeddings=True, tie_output=True, attention_bias=True, layer_norm_eps=1e-6,
                             pad_token_id=PAD, bos_token_id=BOS, eos_token_id=EOS),
    "bahdanau": dict(model_type="bahdanau", embed_size=9, encoder_size=11, decoder_size=13, attention_size=10, src_vocab_size=31,
                     tgt_vocab_size=29, pad_token_id=PAD, bos_token_id=BOS, eos_token_id=EOS),
}


def linear(w, name, x):
    y = x @ w[name + ".weight"].T
    return y + w[name + ".bias"] if name + ".bias" in w else y


class Transformer:
    def __init__(self, c, w):
        self.c, self.w = c, w

    def attend(self, name, x, memory, seen):
        h, d = self.c["num_heads"], self.c["d_model"]
        q, k, v = (linear(self.w, f"{name}.{p}", y).unflatten(-1, (h, d // h)).transpose(1, 2) for p, y in (("q", x), ("k", memory), ("v", memory)))
        p = (q @ k.mT / math.sqrt(d // h)).masked_fill(~seen, -math.inf).softmax(-1)
        return linear(self.w, name + ".o", (p @ v).transpose(1, 2).flatten(-2)), p

    def forward_part(self, name, x):
        return linear(self.w, name + ".w2", linear(self.w, name + ".w1", x).relu())

    def norm(self, name, x):
        return torch.nn.functional.layer_norm(x, x.shape[-1:], self.w[name + ".weight"], self.w[name + ".bias"], self.c["layer_norm_eps"])

    def embed(self, ids):
        d = self.c["d_model"]
        angle = torch.arange(ids.shape[1]).double()[:, None] / 10000 ** (torch.arange(0, d, 2).double() / d)
        return self.w["embed.weight"][ids] * math.sqrt(d) + torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)

    def __call__(self, source, target, mask):
        keys, out = mask.bool()[:, None, None], {}
        x = out["enc.hidden.0"] = self.embed(source)
        for i in range(self.c["encoder_layers"]):
            a, out[f"enc.attn.{i}"] = self.attend(f"encoder.{i}.self", x, x, keys)
            x = self.norm(f"encoder.{i}.norm1", x + a)
            x = out[f"enc.hidden.{i + 1}"] = self.norm(f"encoder.{i}.norm2", x + self.forward_part(f"encoder.{i}.ffn", x))
        causal = torch.ones(target.shape[1], target.shape[1]).bool().tril()
        y = out["dec.hidden.0"] = self.embed(target)
        for i in range(self.c["decoder_layers"]):
            a, out[f"dec.attn.{i}"] = self.attend(f"decoder.{i}.self", y, y, causal)
            y = self.norm(f"decoder.{i}.norm1", y + a)
            a, out[f"cross.attn.{i}"] = self.attend(f"decoder.{i}.cross", y, x, keys)
            y = self.norm(f"decoder.{i}.norm2", y + a)
            y = out[f"dec.hidden.{i + 1}"] = self.norm(f"decoder.{i}.norm3", y + self.forward_part(f"decoder.{i}.ffn", y))
        return {**out, "logits": y @ self.w["embed.weight"].T}

    @staticmethod
    def shapes(c):
        d, f, linears, norms = c["d_model"], c["d_ff"], {}, []
        for side, attentions in ("encoder", ["self"]), ("decoder", ["self", "cross"]):
            for i in range(c[side + "_layers"]):
                linears |= {f"{side}.{i}.{a}.{p}": (d, d) for a in attentions for p in "qkvo"}
                linears |= {f"{side}.{i}.ffn.w1": (f, d), f"{side}.{i}.ffn.w2": (d, f)}
                norms += [f"{side}.{i}.norm{k + 1}" for k in range(len(attentions) + 1)]
        return {"embed.weight": (c["src_vocab_size"], d), **{n + ".weight": s for n, s in linears.items()}, **{n + ".bias": s[:1] for n, s in linears.items()},
                **{n + p: (d,) for n in norms for p in (".weight", ".bias")}}


class Recurrent:
    def __init__(self, c, w):
        self.c, self.w = c, w

    def unit(self, name, x, h):
        n = h.shape[-1]
        a, b = (v @ self.w[f"{name}.weight_{k}"].T + self.w[f"{name}.bias_{k}"] for k, v in (("ih", x), ("hh", h)))
        r, z = torch.sigmoid(a[:, :n] + b[:, :n]), torch.sigmoid(a[:, n:2 * n] + b[:, n:2 * n])
        return (1 - z) * torch.tanh(a[:, 2 * n:] + r * b[:, 2 * n:]) + z * h

    def __call__(self, source, target, mask):
        x, seen = self.w["src_embed.weight"][source], mask.bool()
        sides = []
        for cell, places in ("encoder.forward", range(source.shape[1])), ("encoder.backward", range(source.shape[1] - 1, -1, -1)):
            h, states = x.new_zeros(len(x), self.c["encoder_size"]), [None] * source.shape[1]
            for t in places:
                states[t] = h = torch.where(seen[:, t, None], self.unit(cell, x[:, t], h), h)
            sides.append(torch.stack(states, 1))
        h, s = torch.cat(sides, -1), torch.tanh(linear(self.w, "init", sides[1][:, 0]))
        states, shares, logits = [], [], []
        for t in range(target.shape[1]):
            e = torch.tanh(linear(self.w, "attention.w", s)[:, None] + linear(self.w, "attention.u", h)) @ self.w["attention.v"]
            a = e.masked_fill(~seen, -math.inf).softmax(-1)
            c, y = (a[:, None] @ h)[:, 0], self.w["tgt_embed.weight"][target[:, t]]
            s = self.unit("decoder", torch.cat([y, c], -1), s)
            states.append(s), shares.append(a), logits.append(linear(self.w, "output", torch.cat([s, c, y], -1)))
        return {"enc.hidden": h, "dec.hidden": torch.stack(states, 1), "attn": torch.stack(shares, 1), "logits": torch.stack(logits, 1)}

    @staticmethod
    def shapes(c):
        e, n, m, a, V = c["embed_size"], c["encoder_size"], c["decoder_size"], c["attention_size"], c["tgt_vocab_size"]
        cells = {"encoder.forward": (e, n), "encoder.backward": (e, n), "decoder": (e + 2 * n, m)}
        return {"src_embed.weight": (c["src_vocab_size"], e), "tgt_embed.weight": (V, e),
                **{f"{cell}.weight_{k}": (3 * o, i if k == "ih" else o) for cell, (i, o) in cells.items() for k in ("ih", "hh")},
                **{f"{cell}.bias_{k}": (3 * o,) for cell, (_, o) in cells.items() for k in ("ih", "hh")},
                "init.weight": (m, n), "init.bias": (m,), "attention.w.weight": (a, m), "attention.w.bias": (a,), "attention.u.weight": (a, 2 * n),
                "attention.v": (a,), "output.weight": (V, m + 2 * n + e), "output.bias": (V,)}


def last_row(model, source, ids):
    return model(source.expand(len(ids), -1), ids, torch.ones(len(ids), source.shape[1]))["logits"][:, -1]


def greedy(model, source):
    ids, rows = torch.tensor([[BOS]]), []
    for _ in range(STEPS):
        rows.append(last_row(model, source, ids)[0])
        ids = torch.cat([ids, rows[-1].argmax()[None, None]], 1)
    best = torch.stack(rows).topk(2).values
    return ids[0, 1:].tolist(), (best[:, 0] - best[:, 1]).min().item(), torch.stack(rows)


def beam(model, source, penalty):
    live, done = [([], 0.0)], []
    for _ in range(STEPS):
        logp = last_row(model, source, torch.tensor([[BOS] + ids for ids, _ in live])).log_softmax(-1)
        best = sorted(((s + logp[i, v].item(), ids + [v]) for i, (ids, s) in enumerate(live) for v in range(logp.shape[1])), key=lambda c: -c[0])[:2 * BEAMS]
        done += [(ids, s) for s, ids in best[:BEAMS] if ids[-1] == EOS]
        live = [(ids, s) for s, ids in best if ids[-1] != EOS][:BEAMS]
    ranked = sorted(done + live, key=lambda h: -h[1] / len(h[0]) ** penalty)[:BEAMS]
    return [{"ids": ids, "score": s / len(ids) ** penalty} for ids, s in ranked]


def searches(model, others, prompts, runs):
    cases = []
    for i, (prompt, (ids, gap, _)) in enumerate(zip(prompts, runs)):
        cases.append({"name": f"greedy.{i}", "mode": "greedy", "input_ids": prompt[0].tolist(), "ids_without_eos_stop": ids,
                      "ids": ids[:ids.index(EOS) + 1] if EOS in ids else ids, "least_top2_gap": round(gap, 5)})
        for penalty in (1.0, 0.6):
            found = beam(model, prompt, penalty)
            if any([h["ids"] for h in beam(other, prompt, penalty)] != [h["ids"] for h in found] for other in others):
                return None
            cases.append({"name": f"beam.{i}.lp{penalty}", "mode": "beam", "input_ids": prompt[0].tolist(), "length_penalty": penalty, "hypotheses": found})
    return cases if any(h["ids"][-1] == EOS for c in cases for h in c.get("hypotheses", [])) else None


def batches(c, g):
    draw = lambda side, *shape: torch.randint(LOW, c[side + "_vocab_size"], shape, generator=g)
    for name, rows, source, target in ("t1", 1, 1, 1), ("short", 2, 7, 5), ("long", 1, 19, 13), ("pad_right", 3, 6, 4):
        ids, after, mask = draw("src", rows, source), draw("tgt", rows, target), torch.ones(rows, source, dtype=torch.long)
        if name == "pad_right":
            mask[1, 3:] = mask[2, 1:] = 0
        after[:, 0] = BOS
        yield name, ids * mask, mask, after


def make(name, kind, seed, spread):
    c = SIZES[name]
    for attempt in range(200):
        g = torch.Generator().manual_seed(seed + 1000 * attempt)
        w = {n: spread * torch.randn(s, generator=g) + (".norm" in n and n.endswith("weight")) for n, s in sorted(kind.shapes(c).items())}
        wide = {n: v.double() for n, v in w.items()}
        others = [kind(c, {n: v * (1 + 2e-6 * torch.randn(v.shape, generator=g, dtype=torch.float64)) for n, v in wide.items()}) for _ in range(2)]
        model = kind(c, wide)
        prompts = [torch.randint(LOW, c["src_vocab_size"], (1, n), generator=g) for n in (2, 5, 9)]
        runs = [greedy(model, p) for p in prompts]
        found = searches(model, others, prompts, runs) if min(r[1] for r in runs) > GAP else None
        if found:
            break
    else:
        raise SystemExit(f"{name}: no seed gives clear searches")
    out, expected, listing = HERE / name, {}, {"cases": [], "generate": found}
    out.mkdir(exist_ok=True)
    for case, ids, mask, after in batches(c, g):
        for title, x in model(ids, after, mask).items():
            if title.startswith("enc."):
                x = x * (mask[:, None, :, None] if "attn" in title else mask[..., None])
            if kind is Recurrent or case != "long" or "attn" not in title:
                expected[f"{case}.{title}"] = x
        listing["cases"].append({"name": case, "input_ids": ids.tolist(), "attention_mask": mask.tolist(), "decoder_input_ids": after.tolist()})
    for i, (_, _, logits) in enumerate(runs):
        expected[f"greedy.{i}.logits"] = logits
    save_file({n: v.numpy() for n, v in w.items()}, str(out / "model.safetensors"))
    save_file({n: np.ascontiguousarray(v.numpy().astype(np.float32)) for n, v in expected.items()}, str(out / "expected.safetensors"))
    (out / "config.json").write_text(json.dumps(c, indent=1) + "\n")
    (out / "cases.json").write_text(json.dumps(listing) + "\n")
    print(name, sum(f.stat().st_size for f in out.iterdir()) // 1024, "KB, seed", seed + 1000 * attempt)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name, kind, seed, spread in ("transformer-base", Transformer, 501, 0.3), ("bahdanau", Recurrent, 502, 0.45):
        if len(sys.argv) == 1 or name in sys.argv[1:]:
            make(name, kind, seed, spread)
