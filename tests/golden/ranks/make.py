#!/usr/bin/env python3
"""Makes tiny language models that rank texts, and the scores that the official code of Qwen3-Reranker and bge-reranker-v2-gemma (on
their model cards) gives with transformers, in float64.

    python3 make.py       (needs torch, transformers, tokenizers)

qwen3 and gemma write text; labels is a Qwen3ForSequenceClassification with one label; judge lies in a folder of sentence-transformers
whose module LogitScore names other tokens.
"""
import json
import pathlib
import shutil

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

HERE = pathlib.Path(__file__).resolve().parent
QUERY = "where does anna live?"
TEXTS = ["anna lives in london.", "", "the cat sat on the mat", "yes or no? " * 40, "caf\u00e9 near the lake"]
MOST = 420
BEFORE = ('<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. Note that the '
          'answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n')
AFTER = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
TASK = "Given a web search query, retrieve relevant passages that answer the query"
PROMPT = ("Given a query A and a passage B, determine whether the passage contains an answer to the query by providing a prediction of either "
          "'Yes' or 'No'.")
SIZES = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, head_dim=8, intermediate_size=24,
             max_position_embeddings=512, initializer_range=0.4)


def tokenizer():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer, t.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    t.train_from_iterator([BEFORE, AFTER, TASK, PROMPT, QUERY] + TEXTS + ["yes", "no", "Yes"] * 9,
                          trainers.BpeTrainer(vocab_size=420, special_tokens=["<bos>", "<pad>", "<|im_start|>", "<|im_end|>"],
                                              initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    assert all(t.token_to_id(word) is not None for word in ("yes", "no", "Yes"))
    return t


def ids(t, text):
    return t.encode(text, add_special_tokens=False).ids


def of_qwen3(t, query, text, task=TASK):
    before, after = ids(t, BEFORE), ids(t, AFTER)
    return before + ids(t, f"<Instruct>: {task}\n<Query>: {query}\n<Document>: {text}")[:MOST - len(before) - len(after)] + after


def of_gemma(t, query, text):
    end = ids(t, "\n") + ids(t, PROMPT)
    most = MOST - 1 - len(end)      # the official code's length is without the prompt
    head = ids(t, f"A: {query}")[:most * 3 // 4] + ids(t, "\n")
    return [t.token_to_id("<bos>")] + head + ids(t, f"B: {text}")[:most - len(head)] + end


def save(name, model, t):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    t.save(str(folder / "tokenizer.json"), pretty=False)
    (folder / "tokenizer_config.json").write_text(json.dumps({"bos_token": "<bos>", "pad_token": "<pad>", "tokenizer_class": "PreTrainedTokenizerFast"}) + "\n")
    return model.double().eval()


def scores(model, lists, number):
    with torch.no_grad():
        return [torch.sigmoid(number(model(torch.tensor([one])).logits[0])).item() for one in lists]


def main():
    t, found = tokenizer(), {"query": QUERY, "texts": TEXTS, "most": MOST}
    vocab = dict(vocab_size=t.get_vocab_size(), bos_token_id=0, eos_token_id=3, pad_token_id=1)
    yes, no, large = (t.token_to_id(word) for word in ("yes", "no", "Yes"))
    torch.manual_seed(3)
    qwen3 = save("qwen3", transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**SIZES, **vocab, tie_word_embeddings=False)), t)
    difference = lambda a, b: lambda logits: logits[-1, a] - logits[-1, b]  # noqa: E731
    found["qwen3"] = scores(qwen3, [of_qwen3(t, QUERY, text) for text in TEXTS], difference(yes, no))
    found["told"] = scores(qwen3, [of_qwen3(t, QUERY, text, "cats") for text in TEXTS], difference(yes, no))
    found["judge"] = scores(qwen3, [of_qwen3(t, QUERY, text) for text in TEXTS], difference(large, no))
    shutil.rmtree(HERE / "judge", ignore_errors=True)
    (HERE / "judge/1_LogitScore").mkdir(parents=True)
    kind = "sentence_transformers."
    (HERE / "judge/modules.json").write_text(json.dumps([
        {"idx": 0, "name": "0", "path": "", "type": kind + "base.modules.transformer.Transformer"},
        {"idx": 1, "name": "1", "path": "1_LogitScore", "type": kind + "cross_encoder.modules.logit_score.LogitScore"}]) + "\n")
    (HERE / "judge/1_LogitScore/config.json").write_text(json.dumps({"true_token_id": large, "false_token_id": no}) + "\n")
    torch.manual_seed(4)
    labels = save("labels", transformers.Qwen3ForSequenceClassification(transformers.Qwen3Config(**SIZES, **vocab, num_labels=1)), t)
    with torch.no_grad():
        found["labels"] = [torch.sigmoid(labels(torch.tensor([of_qwen3(t, QUERY, text)])).logits[0, 0]).item() for text in TEXTS]
    torch.manual_seed(5)
    gemma = save("gemma", transformers.GemmaForCausalLM(transformers.GemmaConfig(**SIZES, **vocab)), t)
    found["gemma"] = scores(gemma, [of_gemma(t, QUERY, text) for text in TEXTS], lambda logits: logits[-1, large] * 1)
    (HERE / "expected.json").write_text(json.dumps(found) + "\n")
    for path in HERE.rglob("*"):
        if path.is_file():
            path.chmod(0o644)


if __name__ == "__main__":
    main()
