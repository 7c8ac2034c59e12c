"""Tiny models that read words: a golden model with random weights, and a tokenizer with an id for each of a few words."""

import json

from support.command import GOLDEN, copy_model

WORDS = ["write", "a", "poem", "about", "the", "sea", "Haus", "das", "ist", "</script><b>&", "she", "put", "her", "money", "in", "bank", "he", "sat", "on", "of",
         "river"]
FIRST = 10  # the id of the first word


def tokenizer(folder, start, end, most=1 << 20):
    """A tokenizer of words between spaces, with `start` before and `end` after a text; ids are below `most`."""
    special = [{"id": i, "content": c, "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
               for c, i in (("<unk>", 3), *(((start[0], start[1]),) if start else ()), *(((end[0], end[1]),) if end else ()))]
    around = [{"SpecialToken": {"id": start[0], "type_id": 0}}] if start else []
    around += [{"Sequence": {"id": "A", "type_id": 0}}] + ([{"SpecialToken": {"id": end[0], "type_id": 0}}] if end else [])
    names = {t[0]: {"id": t[0], "ids": [t[1]], "tokens": [t[0]]} for t in (start, end) if t}
    vocab = {w: FIRST + i for i, w in enumerate(WORDS) if FIRST + i < most} | {t["content"]: t["id"] for t in special}
    (folder / "tokenizer.json").write_text(json.dumps(
        {"version": "1.0", "truncation": None, "padding": None, "added_tokens": special, "normalizer": None,
         "pre_tokenizer": {"type": "WhitespaceSplit"}, "decoder": None,
         "post_processor": {"type": "TemplateProcessing", "single": around, "pair": around, "special_tokens": names},
         "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "<unk>"}}))


def model(folder, name):
    """A golden model with words for some of its ids, and its config."""
    copy = copy_model(GOLDEN / name, folder / name.replace("/", "-"))
    config = json.loads((copy / "config.json").read_text())
    sides = [config[key] for key in ("vocab_size", "src_vocab_size", "tgt_vocab_size") if key in config]
    tokenizer(copy, None, ("</s>", config["eos_token_id"]) if config.get("is_encoder_decoder") else None, min(sides))
    return copy, config


def ids(text):
    return [FIRST + WORDS.index(w) for w in text.split()]
