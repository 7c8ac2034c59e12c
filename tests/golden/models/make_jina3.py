#!/usr/bin/env python3
"""Makes a tiny model as jina-embeddings-v3 is published: XLM-RoBERTa with rotary positions, and a LoRA adapter for each task in its own file.
transformers has no class for such files: the code that the model's card names lies beside them. So this file computes the model itself, in
float64, by the formulas of that code (XLMRobertaLoRA and its LoRAParametrization; rotary positions and blocks as in XLMRobertaFlash):

    linear     y = x (W + s B[t] A[t])' + b     A [tasks, r, inputs], B [tasks, outputs, r]
    embedding  y = (W + s A[t] B[t])[id]        A [tasks, rows, r],   B [tasks, r, columns]

with s = lora_alpha / r and t the number of the task in lora_adaptations. All embeddings (of words and of token types) and all linear layers have
adapters. Without a task there is no second term. `custom_st.Transformer`, the first module of modules.json, takes a task and no instruction;
`encode(task=)` of the model itself puts its task_instructions before the text, too.

    python3 make_jina3.py       (needs numpy)

Source: Sturua et al. 2024, arXiv:2409.10173.
"""
import json
import math
import pathlib
import struct

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
TASKS = {"retrieval.query": "find : ", "retrieval.passage": "about ", "separation": "", "classification": "", "text-matching": ""}
V, C, H, F, L, R, ALPHA = 40, 16, 2, 24, 2, 3, 2.0     # three ranks: every axis of an adapter's array has a length of its own
THETA, EPS = 20000.0, 1e-5
WORDS = "the cat sat on a mat dog ran to sea find about : big red house old man and woman saw it".split()
FIRST = 8   # the id of the first word
LINES = ["the cat sat on a mat", "a big red house", "sea", "the old man and the woman saw it", "dog ran to the sea and the dog saw a cat"]


def draw():
    g = np.random.default_rng(903)
    arrays = {}

    def matrix(name, rows, columns, embedding=False):
        arrays[f"roberta.{name}.parametrizations.weight.original"] = g.normal(size=(rows, columns)) * (1 if embedding else 0.3)
        shapes = ((len(TASKS), rows, R), (len(TASKS), R, columns)) if embedding else ((len(TASKS), R, columns), (len(TASKS), rows, R))
        for letter, shape in zip("AB", shapes):
            arrays[f"roberta.{name}.parametrizations.weight.0.lora_{letter}"] = g.normal(size=shape) * 0.4
        if not embedding:
            arrays[f"roberta.{name}.bias"] = g.normal(size=rows) * 0.3

    def norm(name):
        arrays[f"roberta.{name}.weight"] = 1 + 0.3 * g.normal(size=C)
        arrays[f"roberta.{name}.bias"] = 0.3 * g.normal(size=C)

    matrix("embeddings.word_embeddings", V, C, True)
    matrix("embeddings.token_type_embeddings", 1, C, True)
    norm("emb_ln")
    for i in range(L):
        at = f"encoder.layers.{i}."
        matrix(at + "mixer.Wqkv", 3 * C, C)
        matrix(at + "mixer.out_proj", C, C)
        norm(at + "norm1")
        matrix(at + "mlp.fc1", F, C)
        matrix(at + "mlp.fc2", C, F)
        norm(at + "norm2")
    matrix("pooler.dense", C, C)
    return {name: value.astype(np.float32) for name, value in arrays.items()}


class Model:
    def __init__(self, arrays, task):
        self.w = {name.removeprefix("roberta."): value.astype(np.float64) for name, value in arrays.items()}
        self.task = None if task is None else list(TASKS).index(task)

    def matrix(self, name, embedding=False):
        whole = self.w[name + ".parametrizations.weight.original"]
        if self.task is None:
            return whole
        a, b = (self.w[f"{name}.parametrizations.weight.0.lora_{letter}"][self.task] for letter in "AB")
        return whole + ALPHA / R * (a @ b if embedding else b @ a)

    def linear(self, name, x):
        return x @ self.matrix(name).T + self.w[name + ".bias"]

    def norm(self, name, x):
        x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPS) * self.w[name + ".weight"] + self.w[name + ".bias"]

    def states(self, ids):
        """The last hidden states of one text."""
        T, D = len(ids), C // H
        angles = np.arange(T)[:, None] * THETA ** (-np.arange(0, D, 2) / D)
        cos, sin = (np.concatenate([f(angles)] * 2, -1) for f in (np.cos, np.sin))
        rotate = lambda x: x * cos + np.concatenate([-x[..., D // 2:], x[..., :D // 2]], -1) * sin
        gelu = np.vectorize(lambda v: 0.5 * v * (1 + math.erf(v / math.sqrt(2))))
        x = self.norm("emb_ln", self.matrix("embeddings.word_embeddings", True)[ids] + self.matrix("embeddings.token_type_embeddings", True)[0])
        for i in range(L):
            at = f"encoder.layers.{i}."
            q, k, v = self.linear(at + "mixer.Wqkv", x).reshape(T, 3, H, D).transpose(1, 2, 0, 3)
            scores = rotate(q) @ rotate(k).transpose(0, 2, 1) / math.sqrt(D)
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            a = (scores / scores.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(T, C)
            x = self.norm(at + "norm1", x + self.linear(at + "mixer.out_proj", a))
            x = self.norm(at + "norm2", x + self.linear(at + "mlp.fc2", gelu(self.linear(at + "mlp.fc1", x))))
        return x

    def vector(self, text):
        ids = [0] + [FIRST + WORDS.index(word) for word in text.split()] + [2]
        mean = self.states(ids).mean(0)
        return mean / np.linalg.norm(mean)


def write_safetensors(path, arrays):
    header, body = {"__metadata__": {"format": "pt"}}, b""
    for name, value in sorted(arrays.items()):
        data = value.astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1) + "\n")


def tokenizer():
    special = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
    one = lambda name: {"SpecialToken": {"id": name, "type_id": 0}}
    whole = [one("<s>"), {"Sequence": {"id": "A", "type_id": 0}}, one("</s>")]
    return {"version": "1.0", "truncation": None, "padding": None, "normalizer": None, "pre_tokenizer": {"type": "WhitespaceSplit"}, "decoder": None,
            "added_tokens": [{"id": i, "content": name, "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
                             for name, i in special.items()],
            "post_processor": {"type": "TemplateProcessing", "single": whole, "pair": whole,
                               "special_tokens": {name: {"id": name, "ids": [special[name]], "tokens": [name]} for name in ("<s>", "</s>")}},
            "model": {"type": "WordLevel", "vocab": special | {word: FIRST + i for i, word in enumerate(WORDS)}, "unk_token": "<unk>"}}


def main():
    out, arrays = HERE / "jina_tasks", draw()
    write(out / "model/config.json", dict(
        model_type="xlm-roberta", architectures=["XLMRobertaModel"], auto_map={"AutoModel": "modeling_lora.XLMRobertaLoRA"}, vocab_size=V,
        hidden_size=C, num_attention_heads=H, num_hidden_layers=L, intermediate_size=F, hidden_act="gelu", type_vocab_size=1, layer_norm_eps=EPS,
        max_position_embeddings=64, position_embedding_type="rotary", rotary_emb_base=THETA, pad_token_id=1, bos_token_id=0, eos_token_id=2,
        attention_probs_dropout_prob=0.1, hidden_dropout_prob=0.1, initializer_range=0.02, classifier_dropout=None, emb_pooler=None,
        load_trained_adapters=True, lora_adaptations=list(TASKS), lora_alpha=ALPHA, lora_rank=R, lora_dropout_p=0.0, lora_main_params_trainable=False,
        task_instructions=TASKS, matryoshka_dimensions=[4, 8, 16], truncate_dim=None, use_flash_attn=True, use_cache=True, use_reentrant=False,
        torch_dtype="float32", transformers_version="4.30.2"))
    write_safetensors(out / "model/model.safetensors", arrays)
    write(out / "model/tokenizer.json", tokenizer())
    kinds = (("", "custom_st.Transformer"), ("1_Pooling", "sentence_transformers.models.Pooling"), ("2_Normalize", "sentence_transformers.models.Normalize"))
    write(out / "model/modules.json", [{"idx": i, "name": str(i), "path": path, "type": kind} | ({} if i else {"kwargs": ["task"]})
                                       for i, (path, kind) in enumerate(kinds)])
    write(out / "model/1_Pooling/config.json", {"word_embedding_dimension": C, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True})
    write(out / "model/config_sentence_transformers.json", {"prompts": TASKS, "default_prompt_name": None, "similarity_fn_name": "cosine"})
    models = {task: Model(arrays, task) for task in (None, *TASKS)}
    write(out / "expected.json", {"lines": LINES, "none": [models[None].vector(line).tolist() for line in LINES],
                                  "adapter": {task: [models[task].vector(line).tolist() for line in LINES] for task in TASKS},
                                  "encode": {task: [models[task].vector(before + line).tolist() for line in LINES] for task, before in TASKS.items()}})


if __name__ == "__main__":
    main()
