#!/usr/bin/env python3
"""Makes five tiny BERTs, one a head, and what the official implementation says of some lines.

    make.py

Needs PyTorch, transformers and tokenizers. Weights are random and large enough that answers differ; all is computed in float64.
sentence/ is a sentence-transformers folder whose modules (mean pooling, a dense layer with tanh, normalisation) are done here by
hand. Other modules are put into copies of it, which the sentence-transformers package itself runs: the files of each, with their
weights as numbers, and its vectors are in "modules". Spans are merged here as the header of tsr_classify_tokens says.
"""

import json
import pathlib
import shutil
import tempfile

import safetensors.torch
import sentence_transformers
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

HERE = pathlib.Path(__file__).resolve().parent
MOST = 24  # tokens that sentence/ reads
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = "the a cat dog sat on mat paris london anna bob lives in is big small ##s ##ing ##ton red green how are you".split()
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
LABELS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "MISC"]
LINES = ["", " ", "a", "the cat sat on the mat", "The DOG sits on a big mat!", "Anna lives in London.", "bob, anna and paris",
         "Zürich is caf\u00e9 \u4e2d\u6587", "how are you?", "the " * 40, "x\ty", "  trimmed  ", "q" * 120, "red green red green",
         "paris paris bobs mating"]
PAIRS = [["the cat", "sat on the mat"], ["how are you", "anna is big"], ["a " * 30, "b " * 5], ["", "paris"], ["red " * 40, "green " * 40]]
MASKED = ["the [MASK] sat on the mat", "[MASK] lives in [MASK].", "how are [MASK]?"]


def tokenizer():
    vocab = SPECIAL + WORDS + [*LETTERS, *".,!?'-"] + ["##" + c for c in LETTERS]
    vocab = {piece: i for i, piece in enumerate(dict.fromkeys(vocab))}
    t = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]", max_input_chars_per_word=100))
    t.normalizer = normalizers.BertNormalizer(lowercase=True)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
                                                     special_tokens=[("[CLS]", vocab["[CLS]"]), ("[SEP]", vocab["[SEP]"])])
    t.decoder = decoders.WordPiece(prefix="##")
    t.add_special_tokens(SPECIAL)
    return t


def config(t, **changes):
    return transformers.BertConfig(vocab_size=t.get_vocab_size(), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
                                   intermediate_size=24, max_position_embeddings=32, initializer_range=0.4, **changes)


def dump(path, value):
    path.write_text(json.dumps(value, ensure_ascii=True) + "\n", encoding="utf-8")


def save(name, kind, t, **changes):
    torch.manual_seed(len(name) * 7 + ord(name[0]))
    model = kind(config(t, **changes)).eval()
    for key, value in model.named_parameters():
        if "LayerNorm" in key or key.endswith("bias"):
            torch.nn.init.normal_(value, 1.0 if key.endswith("weight") else 0.0, 0.2)
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    t.save(str(folder / "tokenizer.json"), pretty=False)
    dump(folder / "tokenizer_config.json", {"model_max_length": 1000000000000000019884624838656, "mask_token": "[MASK]",
                                            "tokenizer_class": "BertTokenizer", "do_lower_case": True})
    return folder, model.double()


def run(model, ids, types=None):
    inputs = {"input_ids": torch.tensor([ids]), "token_type_ids": torch.tensor([types or [0] * len(ids)])}
    with torch.no_grad():
        return model(**inputs)


def cut(t, text, most):
    t.enable_truncation(most)
    found = t.encode(*text) if isinstance(text, list) else t.encode(text)
    t.no_truncation()
    return found


def sentence(t):
    folder, model = save("sentence", transformers.BertModel, t)
    torch.manual_seed(5)
    dense = torch.nn.Linear(16, 6)
    kind = "sentence_transformers.models."
    dump(folder / "modules.json", [{"idx": i, "name": str(i), "path": path, "type": kind + name} for i, (path, name) in enumerate(
        [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Dense", "Dense"), ("3_Normalize", "Normalize")])])
    for name in ("1_Pooling", "2_Dense"):
        (folder / name).mkdir()
    dump(folder / "1_Pooling/config.json", {"word_embedding_dimension": 16, "pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False})
    dump(folder / "2_Dense/config.json", {"in_features": 16, "out_features": 6, "bias": True,
                                          "activation_function": "torch.nn.modules.activation.Tanh"})
    safetensors.torch.save_file({"linear." + k: v for k, v in dense.state_dict().items()}, folder / "2_Dense/model.safetensors")
    dump(folder / "sentence_bert_config.json", {"max_seq_length": MOST, "do_lower_case": False})
    dump(folder / "config_sentence_transformers.json", {"prompts": {"query": "how are you ", "document": ""}, "default_prompt_name": None})
    dense.double()

    def embed(text):
        found = cut(t, text, MOST)
        with torch.no_grad():
            hidden = run(model, found.ids).last_hidden_state[0]
            vector = torch.tanh(dense(hidden.mean(0)))
            return hidden, (vector / vector.norm()).tolist()
    words = run(model, t.encode(LINES[3]).ids).last_hidden_state[0].tolist()
    first = model(torch.tensor([t.encode(LINES[3]).ids]), output_hidden_states=True).hidden_states[1][0].tolist()
    table = [model.embeddings.word_embeddings.weight[i].tolist() for i in t.encode(LINES[3]).ids]
    return {"lines": LINES, "vectors": [embed(line)[1] for line in LINES], "query": [embed("how are you " + line)[1] for line in LINES],
            "tokens": {"text": LINES[3], "ids": t.encode(LINES[3]).ids, "table": table, "first": first, "last": words}}


def linear(n, k, activation, bias=True, name="linear", **more):
    weights = {name + ".weight": torch.randn(n, k) * 0.4} | ({name + ".bias": torch.randn(n) * 0.4} if bias else {})
    if more.get("use_residual") and n != k:
        weights["residual.weight"] = torch.randn(n, k) * 0.4
    place = "linear" if activation == "Identity" else "activation"
    return ("Dense", {"in_features": k, "out_features": n, "bias": bias, "activation_function": f"torch.nn.modules.{place}.{activation}", **more}, weights)


def norm(n):
    return ("LayerNorm", {"dimension": n}, {"norm.weight": 1 + torch.randn(n) * 0.3, "norm.bias": torch.randn(n) * 0.3})


def module_lists():
    """The modules after the transformer, as lists of (class, config, weights)."""
    flag, wide = "pooling_mode_", {"word_embedding_dimension": 16}
    off = {flag + "mean_tokens": False}
    activations = ["ReLU", "GELU", "SiLU", "Sigmoid", "ReLU6", "ELU", "LeakyReLU", "Softplus", "Mish", "Softsign", "Identity", "Tanh"]
    some = ["lasttoken", "weightedmean", "mean", "max", "cls", "mean_sqrt_len_tokens"]
    yield "mean_sqrt_len_tokens", [("Pooling", wide | off | {flag + "mean_sqrt_len_tokens": True}, {}), linear(7, 16, "ReLU"), norm(7)]
    yield "weightedmean", [("Pooling", wide | off | {flag + "weightedmean_tokens": True}, {}), linear(5, 16, "GELU", False)]
    yield "flags", [("Pooling", wide | {flag + name: True for name in ("lasttoken", "cls_token", "max_tokens", "mean_tokens")}, {}),
                    linear(5, 64, "SiLU"), ("Normalize", {}, {})]
    yield "no flag", [("Pooling", wide | off, {})]
    yield "list", [("Pooling", {"embedding_dimension": 16, "pooling_mode": some}, {}), linear(6, 96, "Tanh", use_residual=True),
                   ("Dropout", {"dropout": 0.5}, {}), linear(6, 6, "Sigmoid", use_residual=True, module_input_name="sentence_embedding")]
    for mode in some:
        yield "without the prompt, " + mode, [("Pooling", {"embedding_dimension": 16, "pooling_mode": mode, "include_prompt": False}, {})]
    for i in range(0, len(activations), 6):
        yield "activations " + str(i), [("Pooling", wide, {})] + [linear(16, 16, name) for name in activations[i:i + 6]]


def modules():
    expected = []
    for i, (name, found) in enumerate(module_lists()):
        torch.manual_seed(100 + i)
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place) / "model"
            shutil.copytree(HERE / "sentence", folder)
            steps = [(f"{j + 1}_{kind}", kind, settings, weights) for j, (kind, settings, weights) in enumerate(found)]
            dump(folder / "modules.json", [{"idx": j, "name": str(j), "path": path, "type": "sentence_transformers.models." + kind}
                                           for j, (path, kind) in enumerate([("", "Transformer")] + [step[:2] for step in steps])])
            for path, _, settings, weights in steps:
                shutil.rmtree(folder / path, ignore_errors=True)
                (folder / path).mkdir()
                dump(folder / path / "config.json", settings)
                if weights:
                    safetensors.torch.save_file(weights, folder / path / "model.safetensors")
            model = sentence_transformers.SentenceTransformer(str(folder), device="cpu").double()
            encode = lambda prompt: model.encode(LINES, prompt=prompt, convert_to_numpy=False, convert_to_tensor=True).tolist()  # noqa: E731
            expected.append({"name": name, "modules": [{"path": path, "kind": kind, "config": settings, "weights":
                                                        {key: [list(value.shape), value.flatten().tolist()] for key, value in weights.items()}}
                                                       for path, kind, settings, weights in steps],
                             "vectors": encode(None), "query": encode("how are you ")})
    return expected


def classify(t):
    expected = {"lines": LINES, "pairs": PAIRS}
    problems = {"single": ("single_label_classification", lambda x: x.softmax(-1)), "multiple": ("multi_label_classification", torch.sigmoid),
                "regression": ("regression", lambda x: x)}
    folder, model = save("classify", transformers.BertForSequenceClassification, t, num_labels=3,
                         id2label={0: "good", 1: "bad", 2: "so so"}, label2id={"good": 0, "bad": 1, "so so": 2},
                         problem_type="single_label_classification")
    for name, (_, score) in problems.items():
        expected[name] = [score(run(model, cut(t, line, 32).ids).logits[0]).tolist() for line in LINES]
    expected["of_pairs"] = [run(model, f.ids, f.type_ids).logits[0].softmax(-1).tolist() for f in (cut(t, pair, 32) for pair in PAIRS)]
    expected["problem_types"] = {name: problem for name, (problem, _) in problems.items()}
    _, model = save("next", transformers.BertForNextSentencePrediction, t)
    expected["next"] = [run(model, f.ids, f.type_ids).logits[0].softmax(-1).tolist() for f in (cut(t, pair, 32) for pair in PAIRS)]
    return expected


def spans(t, model, text):
    found = cut(t, text, 32)
    scores = run(model, found.ids).logits[0].softmax(-1)
    words, last = [], None
    for i, (begin, end) in enumerate(found.offsets):
        if found.special_tokens_mask[i]:
            continue
        if found.word_ids[i] == last and found.tokens[i].startswith("##"):
            words[-1][1] = end
            continue
        last = found.word_ids[i]
        label = int(scores[i].argmax())
        words.append([begin, end, LABELS[label], float(scores[i][label])])
    merged = []
    for begin, end, label, score in words:
        tag, begins = (label[2:], label[0] == "B") if label[:2] in ("B-", "I-") else (label, False)
        if label == "O":
            merged.append(None)
        elif merged and merged[-1] and merged[-1]["label"] == tag and not begins:
            merged[-1]["end"] = end
            merged[-1]["scores"].append(score)
        else:
            merged.append({"label": tag, "begin": begin, "end": end, "scores": [score]})
    byte = lambda at: len(text[:at].encode())  # noqa: E731
    return [{"label": s["label"], "begin": byte(s["begin"]), "end": byte(s["end"]), "score": sum(s["scores"]) / len(s["scores"])}
            for s in merged if s]


def tokens(t):
    _, model = save("tokens", transformers.BertForTokenClassification, t, num_labels=len(LABELS), id2label=dict(enumerate(LABELS)),
                    label2id={label: i for i, label in enumerate(LABELS)})
    return {"lines": LINES, "spans": [spans(t, model, line) for line in LINES]}


def masked(t):
    _, model = save("masked", transformers.BertForMaskedLM, t)
    answers = []
    for line in MASKED:
        ids = t.encode(line).ids
        scores = run(model, ids).logits[0].softmax(-1)
        at = [i for i, token in enumerate(ids) if token == t.token_to_id("[MASK]")]
        answers.append([[[int(i), t.id_to_token(int(i)), float(p)] for p, i in zip(*scores[i].topk(4))] for i in at])
    return {"lines": MASKED, "masks": answers}


def main():
    t = tokenizer()
    dump(HERE / "expected.json", {"sentence": sentence(t), "modules": modules(), "classify": classify(t), "tokens": tokens(t), "masked": masked(t)})
    for path in sorted(HERE.rglob("*")):
        if path.is_file():
            path.chmod(0o644)


main()
