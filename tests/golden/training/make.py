#!/usr/bin/env python3
"""Makes the goldens of training: official models in float64, their gradients, and 12 steps of AdamW.

    tests/golden/training/make.py [KIND...]    writes a folder beside itself for each kind, or for these

Needs: pip install torch transformers safetensors. Seeded; one thread. A folder holds init/ (a model that transformers saved), training.json
(batches, settings, losses and norms), and the gradients of the first batch, the weights after the first step and after the last as
safetensors, stored as float32; of GPT-2 also a step of distillation; of some (SHORT) the gradients alone. Tied weights appear once. What transformers doesn't train (sinusoids, final_logits_bias) is left out.
"""
import contextlib
import json
import math
import pathlib
import random
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from transformers import (BertConfig, BertForMaskedLM, BertForTokenClassification, DebertaConfig, DebertaForMaskedLM, DebertaV2Config,
                          DebertaV2ForMaskedLM, DeepseekV2Config, DeepseekV2ForCausalLM, DeepseekV3Config, DeepseekV3ForCausalLM, GPT2Config,
                          GPT2LMHeadModel, GptOssConfig, GptOssForCausalLM, MarianConfig, MarianMTModel)

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "models"))
from make import Exact64
HYPER = {"steps": 12, "peak_lr": 4e-3, "final_lr": 4e-4, "warmup_steps": 3, "beta1": 0.9, "beta2": 0.95, "eps": 1e-8, "weight_decay": 0.1,
         "max_grad_norm": 0.75}
B, T, S, V, C, H, L = 3, 9, 7, 41, 16, 2, 2
EXPERTS = 6     # of DeepSeek: no other kind has as many
SHORT = ("deberta", "deberta_v2_conv", "bert_tokens")
KINDS = {"gpt2": 0, "bert": 1, "marian": 2, "deberta_v2": 3, "gpt_oss": 4, "deberta": 5, "deberta_v2_conv": 6, "bert_tokens": 7, "deepseek_v2": 5,
         "deepseek_v3": 6}     # the seeds of their numbers
DECODERS, MASKED = ("gpt2", "gpt_oss", "deepseek_v2", "deepseek_v3"), ("bert", "deberta_v2", "deberta", "deberta_v2_conv")
LABELS = 5


def draw(rng, n, low=4):
    return [rng.randrange(low, V) for _ in range(n)]


def padded(rows, n, fill):
    return [row + [fill] * (n - len(row)) for row in rows]


def batch(kind, rng):
    lengths = [T] + [rng.randrange(3, T + 1) for _ in range(B - 1)]
    rows = [draw(rng, n) for n in lengths]
    mask = padded([[1] * n for n in lengths], T, 0)
    if kind in DECODERS:
        targets = padded([row[1:] + [2] for row in rows], T, -100)
        return {"input_ids": padded(rows, T, 0), "attention_mask": mask, "targets": targets}
    if kind == "bert_tokens":      # a label for some tokens: the first piece of each word
        targets = padded([[rng.randrange(LABELS) if i == 1 or rng.random() < 0.6 else -100 for i in range(n)] for n in lengths], T, -100)
        return {"input_ids": padded(rows, T, 0), "attention_mask": mask, "targets": targets}
    if kind in MASKED:
        targets = [[-100] * T for _ in rows]
        for row, want in zip(rows, targets):
            for at in sorted(rng.sample(range(len(row)), max(1, len(row) // 3))):
                want[at], row[at] = row[at], 3
        if kind != "bert":
            return {"input_ids": padded(rows, T, 0), "attention_mask": mask, "targets": targets}
        types = padded([[0] * (n // 2) + [1] * (n - n // 2) for n in lengths], T, 0)
        return {"input_ids": padded(rows, T, 0), "attention_mask": mask, "token_type_ids": types, "targets": targets}
    sources = [S] + [rng.randrange(2, S + 1) for _ in range(B - 1)]
    return {"input_ids": padded([draw(rng, n) for n in sources], S, 0), "attention_mask": padded([[1] * n for n in sources], S, 0),
            "decoder_input_ids": padded([[0] + row[:-1] for row in rows], T, 0), "targets": padded(rows, T, -100)}


def make_model(kind):
    torch.manual_seed(1 + KINDS[kind])
    small = dict(vocab_size=V, hidden_size=C, num_hidden_layers=L, num_attention_heads=H, intermediate_size=2 * C, max_position_embeddings=T + 3,
                 hidden_dropout_prob=0, attention_probs_dropout_prob=0, initializer_range=0.2)
    distances = dict(relative_attention=True, pos_att_type=["p2c", "c2p"], position_biased_input=False, type_vocab_size=0)
    if kind == "deberta":
        model = DebertaForMaskedLM(DebertaConfig(**small, **distances))
        for layer in model.deberta.encoder.layer:
            layer.attention.self.q_bias.data.normal_(std=0.2)
            layer.attention.self.v_bias.data.normal_(std=0.2)
        return model
    if kind == "deberta_v2_conv":
        return DebertaV2ForMaskedLM(DebertaV2Config(**small, **distances, share_att_key=True, conv_kernel_size=3, conv_act="gelu", conv_groups=2))
    if kind == "bert_tokens":
        return BertForTokenClassification(BertConfig(**small, num_labels=LABELS))
    if kind == "gpt2":
        return GPT2LMHeadModel(GPT2Config(vocab_size=V, n_positions=T + 3, n_embd=C, n_layer=L, n_head=H, bos_token_id=1, eos_token_id=2,
                                          resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, initializer_range=0.2))
    if kind == "bert":
        return BertForMaskedLM(BertConfig(vocab_size=V, hidden_size=C, num_hidden_layers=L, num_attention_heads=H, intermediate_size=2 * C,
                                          max_position_embeddings=T + 3, hidden_dropout_prob=0, attention_probs_dropout_prob=0,
                                          initializer_range=0.2))
    if kind == "deberta_v2":
        return DebertaV2ForMaskedLM(DebertaV2Config(vocab_size=V, hidden_size=C, num_hidden_layers=L, num_attention_heads=H, intermediate_size=2 * C,
                                                    max_position_embeddings=T + 3, hidden_dropout_prob=0, attention_probs_dropout_prob=0,
                                                    initializer_range=0.2, relative_attention=True, share_att_key=True, type_vocab_size=0,
                                                    pos_att_type=["p2c", "c2p"], position_buckets=4, norm_rel_ebd="layer_norm",
                                                    position_biased_input=False))
    if kind == "gpt_oss":
        model = GptOssForCausalLM(GptOssConfig(vocab_size=V, hidden_size=C, num_hidden_layers=L, num_attention_heads=2 * H, num_key_value_heads=H,
                                               head_dim=C // H, intermediate_size=C, max_position_embeddings=T + 3, num_local_experts=3,
                                               num_experts_per_tok=2, sliding_window=4, initializer_range=0.2, pad_token_id=0, bos_token_id=1,
                                               eos_token_id=2, rope_parameters=dict(rope_theta=100.0, rope_type="default")))
        for layer in model.model.layers:
            layer.self_attn.sinks.data.normal_()
        return model
    latent = dict(vocab_size=V, hidden_size=C, num_hidden_layers=L, num_attention_heads=H, num_key_value_heads=H, intermediate_size=C,
                  max_position_embeddings=T + 3, qk_nope_head_dim=4, qk_rope_head_dim=4, v_head_dim=6, kv_lora_rank=8, q_lora_rank=6,
                  moe_intermediate_size=8, n_routed_experts=EXPERTS, num_experts_per_tok=2, n_shared_experts=1, first_k_dense_replace=1,
                  n_group=3, topk_group=2, routed_scaling_factor=1.5, initializer_range=0.2, pad_token_id=0, bos_token_id=1, eos_token_id=2,
                  rope_parameters=dict(rope_theta=100.0, rope_type="default"))
    if kind == "deepseek_v2":
        return DeepseekV2ForCausalLM(DeepseekV2Config(**latent, topk_method="group_limited_greedy"))
    if kind == "deepseek_v3":
        model = DeepseekV3ForCausalLM(DeepseekV3Config(**latent))
        model.model.layers[1].mlp.gate.e_score_correction_bias.normal_(0, 0.2)
        return model
    return MarianMTModel(MarianConfig(vocab_size=V, decoder_vocab_size=V, d_model=C, encoder_layers=L, decoder_layers=L,
                                      encoder_attention_heads=H, decoder_attention_heads=H, encoder_ffn_dim=2 * C, decoder_ffn_dim=2 * C,
                                      max_position_embeddings=T + 3, activation_function="relu", scale_embedding=True, dropout=0,
                                      attention_dropout=0, activation_dropout=0, pad_token_id=0, decoder_start_token_id=0, eos_token_id=2,
                                      forced_eos_token_id=None, init_std=0.2))


def loss_of(model, batch, smoothing):
    inputs = {key: torch.tensor(value) for key, value in batch.items() if key != "targets"}
    logits = model(**inputs).logits
    targets = torch.tensor(batch["targets"])
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1), ignore_index=-100, label_smoothing=smoothing)


def distil(model, batch, folder):
    """The divergence from a teacher at temperature 2, over rows with a target, times its square, and the gradients of that."""
    inputs = {key: torch.tensor(value) for key, value in batch.items() if key != "targets"}
    rows = torch.tensor(batch["targets"]) != -100
    logits = model(**inputs).logits
    teacher = (logits.detach() + torch.randn(logits.shape, generator=torch.Generator().manual_seed(403), dtype=torch.float64)).float()
    p, q = (F.log_softmax(x[rows] / 2, -1) for x in (teacher.double(), logits))
    loss = 4 * (p.exp() * (p - q)).sum(-1).mean()
    loss.backward()
    save_file({"logits": teacher}, folder / "teacher_logits.safetensors")
    save(names_of(model), folder / "grads_distill.safetensors", lambda p: p.grad)
    model.zero_grad()
    return {"batch": 0, "temperature": 2.0, "loss": loss.item()}


def names_of(model):
    """Parameters as the file names them, each once; sinusoids do not learn."""
    return {name: p for name, p in model.named_parameters() if "embed_positions" not in name}


def zero_gradients(kind, parameters):
    """Key biases: softmax does not see them."""
    if kind not in ("gpt2", "bert", "marian", "bert_tokens"):
        return []   # scores that depend on positions see them
    if kind == "gpt2":
        return [{"tensor": n, "first": C, "count": C} for n in parameters if n.endswith("c_attn.bias")]
    end = "key.bias" if kind.startswith("bert") else "k_proj.bias"
    return [{"tensor": n, "first": 0, "count": C} for n in parameters if n.endswith(end)]


def stored(name, t):
    """The arrays of a parameter as files have them: DeepSeek's of all experts are one for each."""
    if name.endswith(".experts.gate_up_proj") and t.shape[0] == EXPERTS:
        return {f"{name[:-12]}{e}.{part}_proj.weight": rows for e in range(EXPERTS) for part, rows in zip(("gate", "up"), t[e].chunk(2))}
    if name.endswith(".experts.down_proj") and t.shape[0] == EXPERTS:
        return {f"{name[:-9]}{e}.down_proj.weight": t[e] for e in range(EXPERTS)}
    return {name: t}


def save(parameters, path, of=lambda p: p.data):
    arrays = {k: t for name, p in parameters.items() for k, t in stored(name, of(p)).items()}
    save_file({name: t.detach().float().contiguous().clone() for name, t in arrays.items()}, path, {"format": "pt"})


def rate_at(t):
    peak, last, warmup, steps = HYPER["peak_lr"], HYPER["final_lr"], HYPER["warmup_steps"], HYPER["steps"]
    if t < warmup:
        return peak * (t + 1) / warmup
    return last + (peak - last) * (1 + math.cos(math.pi * (t - warmup) / (steps - warmup))) / 2


def make(kind):
    folder, rng = HERE / kind, random.Random(11 + KINDS[kind])
    smoothing = 0.1 if kind == "marian" else 0.0
    model = make_model(kind)
    model.save_pretrained(folder / "init")
    how = dict(attn_implementation="eager", experts_implementation="eager") if kind in DECODERS[1:] else {}
    exact = Exact64 if "deberta" in kind or kind in DECODERS[1:] else contextlib.nullcontext
    model = type(model).from_pretrained(folder / "init", **how).double().train()
    parameters = names_of(model)
    batches = [batch(kind, rng) for _ in range(2)]
    moments = {name: (torch.zeros_like(p), torch.zeros_like(p)) for name, p in parameters.items()}
    log, distilled = [], {"distill": distil(model, batches[0], folder)} if kind == "gpt2" else {}
    for t in range(1 if kind in SHORT else HYPER["steps"]):
        model.zero_grad()
        with exact():
            loss = loss_of(model, batches[t % 2], smoothing)
        loss.backward()
        norm = math.sqrt(sum(float((p.grad ** 2).sum()) for p in parameters.values()))
        if t == 0:
            save(parameters, folder / "grads.safetensors", lambda p: p.grad)
        factor = HYPER["max_grad_norm"] / (norm + 1e-6) if norm > HYPER["max_grad_norm"] else 1.0
        log.append({"step": t, "lr": rate_at(t), "loss": loss.item(), "grad_norm": norm})
        for name, p in parameters.items():
            m, v = moments[name]
            g = p.grad * factor
            m.mul_(HYPER["beta1"]).add_(g, alpha=1 - HYPER["beta1"])
            v.mul_(HYPER["beta2"]).add_(g * g, alpha=1 - HYPER["beta2"])
            with torch.no_grad():
                if p.dim() > 1 and not name.endswith("bias"):
                    p.mul_(1 - rate_at(t) * HYPER["weight_decay"])
                p.sub_(rate_at(t) * (m / (1 - HYPER["beta1"] ** (t + 1))) / ((v / (1 - HYPER["beta2"] ** (t + 1))).sqrt() + HYPER["eps"]))
        if t == 0 and kind not in SHORT:
            save(parameters, folder / "step1.safetensors")
    if kind not in SHORT:
        save(parameters, folder / "final.safetensors")
    (folder / "training.json").write_text(json.dumps({
        "hyper": HYPER | {"label_smoothing": smoothing, "ignore_index": -100}, "zero_gradient": zero_gradients(kind, parameters),
        "one_step": {"batch": 0, "loss": log[0]["loss"], "grad_norm": log[0]["grad_norm"]}, **distilled, "train": log, "batches": batches}) + "\n")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for each in sys.argv[1:] or KINDS:
        make(each)
