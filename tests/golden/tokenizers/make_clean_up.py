#!/usr/bin/env python3
"""Makes clean_up.json: what transformers 5.24.0 makes of clean_up_tokenization_spaces in tokenizer_config.json.

    python3 make_clean_up.py        # needs transformers, tokenizers and sentencepiece

A case has the tokenizer.json of a small vocabulary ("file"; without it, a folder of Marian around unigram.model), the
tokenizer_config.json beside it, and per line of pieces the text that AutoTokenizer's decode gives."""
import json
import random
import shutil
import tempfile
from pathlib import Path

import sentencepiece
import transformers

HERE = Path(__file__).resolve().parent
PIECES = ["<unk>", "a", "do", "not", ".", "..", "?", "!", ",", "'", "''", "n't", "'m", "'s", "'ve", "'re", "n", "'t", "m", "Hello", "\u65e5",
          " ", ". ", " '", "' ", " ' '", "##.", "##n't", "\u2581.", "\u2581'", "\u2581do", "\u2581", "\u2581n", "\u2581n't", "s ", "ve"]
FORCED = "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output"
CONFIGS = [{}, {"clean_up_tokenization_spaces": False}, {"clean_up_tokenization_spaces": True},
           {"clean_up_tokenization_spaces": None}, {"clean_up_tokenization_spaces": True, FORCED: True}, {FORCED: True}]


def files():
    vocab = {p: i for i, p in enumerate(PIECES)}
    bpe = {"type": "BPE", "unk_token": "<unk>", "vocab": vocab, "merges": []}
    piece = {"type": "WordPiece", "unk_token": "<unk>", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocab}
    metaspace = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
    yield {"type": "WordLevel", "unk_token": "<unk>", "vocab": vocab}, None
    yield bpe, None
    yield bpe, {"type": "Fuse"}
    yield {"type": "Unigram", "unk_id": 0, "vocab": [[p, -float(i)] for i, p in enumerate(PIECES)]}, metaspace
    for cleanup in (False, True):
        yield piece, {"type": "WordPiece", "prefix": "##", "cleanup": cleanup}


def lines(pieces, random_from):
    yield ["Hello", ".", "do", "not", "'", "a", "'", "?"]
    yield ["\u2581do", "\u2581n't", "\u2581.", "\u2581'", "\u2581", "a", " "]
    for i in range(10):
        yield [random_from.choice(pieces) for _ in range(3 * i + 2)]


def case(folder, config, rows):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    ids = [tokenizer.convert_tokens_to_ids(row) for row in rows]
    return {"config": config, "decoded": [tokenizer.decode(i, skip_special_tokens=True) for i in ids]}


def make(folder, file, configs, rows):
    out = []
    for config in configs:
        if file:
            (folder / "tokenizer.json").write_text(json.dumps(file))
        if config is not None:
            config = {"tokenizer_class": "PreTrainedTokenizerFast" if file else "MarianTokenizer", **config}
            (folder / "tokenizer_config.json").write_text(json.dumps(config))
        out.append(case(folder, config, rows))
    return out


def marian(folder):
    model = sentencepiece.SentencePieceProcessor(model_file=str(HERE / "unigram.model"))
    pieces = [model.id_to_piece(i) for i in range(3, model.get_piece_size())]
    (folder / "vocab.json").write_text(json.dumps({p: i for i, p in enumerate(["</s>", "<unk>", *pieces, "<pad>"])}))
    for name in ("source.spm", "target.spm"):
        shutil.copy(HERE / "unigram.model", folder / name)
    return pieces


def main():
    out, groups = random.Random(1), []
    rows = list(lines(PIECES, out))
    for model, decoder in files():
        file = {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": None, "post_processor": None,
                "decoder": decoder, "model": model}
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "config.json").write_text("{}")
            groups.append({"file": file, "pieces": rows, "cases": make(Path(folder), file, CONFIGS, rows)})
    with tempfile.TemporaryDirectory() as folder:
        pieces = marian(Path(folder))
        pieces = [p for p in pieces if not p.startswith("<")]
        marks = [p for p in pieces if p.strip("\u2581") in (".", ",", "?", "!", "'", "s", "m", "n", "t", "")] * 3
        rows = [[out.choice(marks + pieces[:30]) for _ in range(3 * i + 2)] + ["s"] for i in range(12)]  # Marian's are stripped
        groups.append({"file": None, "pieces": rows, "cases": make(Path(folder), None, CONFIGS[:3], rows)})
        groups[-1]["vocabulary"] = json.loads((Path(folder) / "vocab.json").read_text())
    text = ",\n".join(json.dumps(g, ensure_ascii=False) for g in groups)
    (HERE / "clean_up.json").write_text(f"[\n{text}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
