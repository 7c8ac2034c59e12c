#!/usr/bin/env python3
"""Makes the tiny golden models of Tessera's own architecture (src/model/arch/tessera.c), which no library has: PyTorch in float64,
written from the formulas, one layer in plain sight.

    python3 make_tessera.py [NAME...]       (needs torch, transformers, safetensors, numpy: what make_source.py needs)

    pre    x += attention(norm1 x); x += cross(norm x); x += mlp(norm2 x); the last state after a final norm
    post   x = norm1(x + attention x); x = norm(x + cross x); x = norm2(x + mlp x)
"""
import math
import sys
from types import SimpleNamespace

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.numpy import save_file

from make import GAP, HERE, forward_cases
from make import greedy as greedy_decoder
from make_source import batches, greedy, save

SMALL = dict(model_type="tessera", vocab_size=61, hidden_size=24, encoder_layers=0, decoder_layers=0, num_attention_heads=4,
             num_key_value_heads=4, intermediate_size=40, max_position_embeddings=48, positions="none", attention="causal", norm="pre",
             norm_type="layer", norm_eps=1e-5, hidden_act="gelu", gated=False, use_bias=True, tie_word_embeddings=True,
             scale_embedding=False, pad_token_id=0, bos_token_id=1, eos_token_id=2)
MODELS = {
    "tessera-none": dict(decoder_layers=2, num_key_value_heads=2, norm="post", norm_type="rms", hidden_act="silu", gated=True,
                         use_bias=False, tie_word_embeddings=False),
    "tessera-sinusoidal": dict(decoder_layers=2, positions="sinusoidal", norm="post", scale_embedding=True),
    "tessera-encoder": dict(encoder_layers=2, positions="rotary", attention="bidirectional", norm_type="rms", hidden_act="relu"),
    "tessera-translate": dict(encoder_layers=1, decoder_layers=2, num_attention_heads=6, num_key_value_heads=6, positions="alibi",
                              attention="bidirectional", norm="post", hidden_act="silu", gated=True, decoder_start_token_id=0),
}
ACT = {"gelu": F.gelu, "relu": F.relu, "silu": F.silu}


def shapes(c):
    """name -> shape of every array."""
    C, H, G, D = c.hidden_size, c.num_attention_heads, c.num_key_value_heads, c.hidden_size // c.num_attention_heads
    out = {"embed.weight": (c.vocab_size, C)}

    def linear(name, n, m):
        out[name + ".weight"] = (n, m)
        if c.use_bias:
            out[name + ".bias"] = (n,)

    def norm(name):
        out[name + ".weight"] = (C,)
        if c.norm_type == "layer":
            out[name + ".bias"] = (C,)

    for side, layers in ("encoder", c.encoder_layers), ("decoder", c.decoder_layers):
        if layers and c.positions == "learned":
            out[side + ".positions.weight"] = (c.max_position_embeddings, C)
        if layers and c.norm == "pre":
            norm(side + ".norm")
        for i in range(layers):
            at = f"{side}.layers.{i}."
            parts = ["attention."] + ["cross."] * bool(side == "decoder" and c.encoder_layers)
            for part in parts:
                for name, n, m in ("q", H * D, C), ("k", G * D, C), ("v", G * D, C), ("out", C, H * D):
                    linear(at + part + name, n, m)
            for name in ["norm1", "norm2"] + ["cross.norm"] * (len(parts) - 1):
                norm(at + name)
            for name in ["up"] + ["gate"] * c.gated:
                linear(at + "mlp." + name, c.intermediate_size, C)
            linear(at + "mlp.down", C, c.intermediate_size)
    if not c.decoder_layers:
        linear("masked.dense", C, C)
        norm("masked.norm")
    if not c.tie_word_embeddings:
        out["head.weight"] = (c.vocab_size, C)
    return out


class Model:
    def __init__(self, config, weights):
        self.config, self.w = config, {k: torch.from_numpy(v).double() for k, v in weights.items()}

    def linear(self, x, name):
        return F.linear(x, self.w[name + ".weight"], self.w.get(name + ".bias"))

    def norm(self, x, name):
        c, w = self.config, self.w
        if c.norm_type == "layer":
            return F.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"], c.norm_eps)
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + c.norm_eps) * w[name + ".weight"]

    def embed(self, ids, at, side):
        c, C = self.config, self.config.hidden_size
        x = self.w["embed.weight"][ids] * (math.sqrt(C) if c.scale_embedding else 1)
        if c.positions == "learned":
            x = x + self.w[side + ".positions.weight"][at]
        if c.positions == "sinusoidal":
            angle = at[..., None].double() / 10000 ** (torch.arange(0, C, 2).double() / C)
            x = x + torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)
        return x

    def rotate(self, x, at):
        D = x.shape[-1]
        angle = at[:, None, :, None].double() / 10000 ** (torch.arange(0, D, 2).double() / D)
        a, b = x[..., :D // 2], x[..., D // 2:]
        return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], -1)

    def alibi(self, q_at, k_at):
        H = self.config.num_attention_heads
        n = 2 ** math.floor(math.log2(H))
        slopes = [2 ** (-8 * (i + 1) / n) for i in range(n)] + [2 ** (-4 * (2 * i + 1) / n) for i in range(H - n)]
        return -torch.tensor(slopes).double()[:, None, None] * (k_at[:, None, None, :] - q_at[:, None, :, None]).abs()

    def attend(self, x, keys, name, seen, at=None):
        c = self.config
        D = c.hidden_size // c.num_attention_heads
        q, k, v = (self.linear(y, name + p).unflatten(-1, (-1, D)).transpose(1, 2) for y, p in ((x, "q"), (keys, "k"), (keys, "v")))
        if at is not None and c.positions == "rotary":
            q, k = self.rotate(q, at), self.rotate(k, at)
        k, v = (y.repeat_interleave(q.shape[1] // k.shape[1], 1) for y in (k, v))
        scores = q @ k.transpose(-1, -2) / math.sqrt(D)
        if at is not None and c.positions == "alibi":
            scores = scores + self.alibi(at, at)
        p = scores.masked_fill(~seen, -math.inf).softmax(-1)
        return self.linear((p @ v).transpose(1, 2).flatten(-2), name + "out"), p

    def mlp(self, x, name):
        act = ACT[self.config.hidden_act]
        up = self.linear(x, name + "up")
        return self.linear(act(self.linear(x, name + "gate")) * up if self.config.gated else act(up), name + "down")

    def stack(self, side, layers, ids, mask, at, memory=None, memory_mask=None):
        c, T = self.config, ids.shape[1]
        pre, x = c.norm == "pre", self.embed(ids, at, side)
        seen = mask.bool()[:, None, None, :].expand(-1, 1, T, -1)
        if side == "decoder" or c.attention == "causal":
            seen = seen & torch.ones(T, T).tril().bool()
        seen = seen | torch.eye(T).bool()              # rows under padding see themselves, and are not compared
        hidden, attn, cross = [x], [], []
        for i in range(layers):
            name = f"{side}.layers.{i}."

            def part(x, norm, run):
                return x + run(self.norm(x, name + norm)) if pre else self.norm(x + run(x), name + norm)

            def own(y):
                y, p = self.attend(y, y, name + "attention.", seen, at)
                attn.append(p)
                return y

            def other(y):
                y, p = self.attend(y, memory, name + "cross.", memory_mask.bool()[:, None, None, :])
                cross.append(p)
                return y

            x = part(x, "norm1", own)
            if memory is not None:
                x = part(x, "cross.norm", other)
            x = part(x, "norm2", lambda y: self.mlp(y, name + "mlp."))
            hidden.append(x)
        if pre:
            hidden[-1] = self.norm(x, side + ".norm")
        return hidden, attn, cross

    def __call__(self, input_ids, attention_mask=None, position_ids=None, decoder_input_ids=None, **_):
        c = self.config
        whole = lambda ids: torch.arange(ids.shape[1]).expand(ids.shape)
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        at = whole(input_ids) if position_ids is None else position_ids
        head = self.w["embed.weight" if c.tie_word_embeddings else "head.weight"]
        if not c.encoder_layers or not c.decoder_layers:
            side = "decoder" if c.decoder_layers else "encoder"
            hidden, attn, _ = self.stack(side, c.decoder_layers or c.encoder_layers, input_ids, mask, at)
            last = hidden[-1]
            if side == "encoder":
                last = self.norm(ACT[c.hidden_act](self.linear(last, "masked.dense")), "masked.norm")
            return SimpleNamespace(logits=last @ head.T, hidden_states=hidden, attentions=attn, past_key_values=None)
        source, source_attn, _ = self.stack("encoder", c.encoder_layers, input_ids, mask, at)
        ids = decoder_input_ids
        hidden, attn, cross = self.stack("decoder", c.decoder_layers, ids, torch.ones_like(ids), whole(ids), source[-1], mask)
        return SimpleNamespace(logits=hidden[-1] @ head.T, encoder_hidden_states=source, decoder_hidden_states=hidden,
                               encoder_attentions=source_attn, decoder_attentions=attn, cross_attentions=cross)


def write(out, config, weights):
    out.mkdir(parents=True, exist_ok=True)
    save_file(weights, str(out / "model.safetensors"))
    (out / "config.json").write_text("{\n" + ",\n".join(f'  "{k}": {str(v).lower() if isinstance(v, bool) else repr(v)}'
                                                        for k, v in vars(config).items()).replace("'", '"') + "\n}\n")


def draw(config, seed):
    rng = np.random.default_rng(seed)
    norms = lambda name: name.rsplit(".", 2)[-2].startswith("norm")
    return {name: (rng.standard_normal(shape) * 0.25 + (norms(name) and name.endswith("weight"))).astype(np.float32)
            for name, shape in shapes(config).items()}


def put(expected, case, r, mask):
    seen = mask[..., None].double()
    if hasattr(r, "hidden_states"):
        lists = ("hidden", r.hidden_states, seen), ("attn", r.attentions, seen[:, None])
    else:
        one = torch.ones(1, 1, 1).double()
        lists = (("enc.hidden", r.encoder_hidden_states, seen), ("dec.hidden", r.decoder_hidden_states, one),
                 ("enc.attn", r.encoder_attentions, seen[:, None]), ("dec.attn", r.decoder_attentions, one[None]),
                 ("cross.attn", r.cross_attentions, one[None]))
    for title, items, keep in lists:
        for i, x in enumerate(items):
            if case != "long" or "attn" not in title:
                expected[f"{case}.{title}.{i}"] = x * keep


def cases_of(config, g):
    """name, inputs, mask of the rows that count."""
    if not config.encoder_layers:
        for case, inputs, _ in forward_cases(g, config.vocab_size):
            yield case, inputs, inputs.get("attention_mask", torch.ones_like(inputs["input_ids"]))
        return
    for case, ids, mask in batches(g, config.vocab_size, 19):
        inputs = dict(input_ids=ids, attention_mask=mask)
        if config.decoder_layers:
            after = torch.randint(4, config.vocab_size, (len(ids), 4), generator=g)
            inputs["decoder_input_ids"] = torch.cat([torch.full((len(ids), 1), config.decoder_start_token_id), after], 1)
        yield case, inputs, mask


def make(name, seed):
    config = SimpleNamespace(**{**SMALL, **MODELS[name]})
    both, encoder = config.encoder_layers and config.decoder_layers, not config.decoder_layers
    for attempt in range(80):
        weights = draw(config, seed + 1000 * attempt)
        model, g = Model(config, weights), torch.Generator().manual_seed(seed)
        prompts = [torch.randint(4, config.vocab_size, (1, n), generator=g) for n in (2, 6)]
        runs = [] if encoder else [greedy(model, p) if both else greedy_decoder(model, p, False) for p in prompts]
        if all(r[1] > GAP for r in runs):
            break
    else:
        raise SystemExit(f"{name}: no seed gives clear greedy steps")
    out, expected, listing = HERE / name, {}, {"cases": [], "generate": []}
    write(out / "mlm" if encoder else out, config, weights)
    for case, inputs, mask in cases_of(config, g):
        r = model(**inputs)
        expected[f"{case}.mlm.logits" if encoder else f"{case}.logits"] = r.logits if both else r.logits * mask[..., None]
        put(expected, case, r, mask)
        listing["cases"].append({"name": case, **{k: v.tolist() for k, v in inputs.items()}})
    for i, (prompt, (ids, gap, logits)) in enumerate(zip(prompts, runs)):
        expected[f"greedy.{i}.logits"] = logits
        listing["generate"].append({"name": f"greedy.{i}", "mode": "greedy", "input_ids": prompt[0].tolist(), "ids_without_eos_stop": ids,
                                    "least_top2_gap": round(gap, 5)})
    save(out, expected, listing)


if __name__ == "__main__":
    for seed, name in enumerate(MODELS):
        if len(sys.argv) == 1 or name in sys.argv[1:]:
            make(name, 400 + seed)
