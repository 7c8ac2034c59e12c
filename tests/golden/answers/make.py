#!/usr/bin/env python3
"""Makes tiny models of class ...ForQuestionAnswering, each with another kind of tokenizer, and what transformers' pipeline
"question-answering" answers, in float64.

    python3 make.py       (needs torch, tokenizers, and transformers 4: version 5 has no such pipeline)

Where a tokenizer counts the blank before a word to it, the pipeline's answers begin or end with one. Ours don't: it is taken off here, and
answers that differ in it alone are the same. And
where a text has fewer spans than answers are wanted, the pipeline gives empty ones of score 0, which end before they begin: they are
left out.
"""
import json
import pathlib
import shutil

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = pathlib.Path(__file__).resolve().parent
CONTEXTS = ["Anna lives in London. She doesn't like the big, red bus (line 12a)!", "The cat sat on the mat, and the DOG sat on the cat.", "mat",
            "Zürich is a city; the café near the lake sells 3.5 kg of cheese a day. " * 6 + "Yes.", ("one two three. " * 40).strip()]
QUESTIONS = ["Where does Anna live?", "who sat on the mat?", "what?", "How much cheese is sold?", "three?"]
SETTINGS = [dict(), dict(top_k=4), dict(top_k=3, handle_impossible_answer=True), dict(top_k=3, max_answer_len=4),
            dict(top_k=3, max_seq_len=40, doc_stride=10), dict(top_k=5, max_seq_len=37, doc_stride=3, handle_impossible_answer=True, max_answer_len=6)]


def word_piece():
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer, t.pre_tokenizer, t.decoder = normalizers.BertNormalizer(lowercase=True), pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    t.train_from_iterator(CONTEXTS + QUESTIONS, trainers.WordPieceTrainer(vocab_size=110, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"]))
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
                                                     special_tokens=[(s, t.token_to_id(s)) for s in ("[CLS]", "[SEP]")])
    return t, dict(cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]", unk_token="[UNK]")


def byte_level():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer, t.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    t.train_from_iterator(CONTEXTS + QUESTIONS, trainers.BpeTrainer(vocab_size=320, special_tokens=["<s>", "<pad>", "</s>"],
                                                                    initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    return t, dict(cls_token="<s>", sep_token="</s>", pad_token="<pad>", bos_token="<s>", eos_token="</s>")


def unigram():
    t = Tokenizer(models.Unigram())
    t.normalizer, t.pre_tokenizer, t.decoder = normalizers.NFKC(), pre_tokenizers.Metaspace(), decoders.Metaspace()
    t.train_from_iterator(CONTEXTS + QUESTIONS, trainers.UnigramTrainer(vocab_size=90, special_tokens=["<s>", "<pad>", "</s>", "<unk>"], unk_token="<unk>"))
    t.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    return t, dict(cls_token="<s>", sep_token="</s>", pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>")


SMALL = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, initializer_range=0.5)
KINDS = {
    "word_piece": (word_piece, transformers.BertForQuestionAnswering, transformers.BertConfig, dict(max_position_embeddings=96)),
    "byte_level": (byte_level, transformers.RobertaForQuestionAnswering, transformers.RobertaConfig,
                   dict(max_position_embeddings=100, type_vocab_size=1, pad_token_id=1, bos_token_id=0, eos_token_id=2)),
    "unigram": (unigram, transformers.XLMRobertaForQuestionAnswering, transformers.XLMRobertaConfig,
                dict(max_position_embeddings=100, type_vocab_size=1, pad_token_id=1, bos_token_id=0, eos_token_id=2)),
}


def trimmed(context, answer):
    start, end = answer["start"], answer["end"]
    while start < end and context[start].isspace():
        start += 1
    while start < end and context[end - 1].isspace():
        end -= 1
    return {"begin": len(context[:start].encode()), "end": len(context[:end].encode()), "text": context[start:end], "score": answer["score"]}


def make(name, tokenizer, kind, config, more):
    torch.manual_seed(len(name))
    t, names = tokenizer()
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    model = kind(config(vocab_size=t.get_vocab_size(), **SMALL, **more)).eval()
    torch.nn.init.normal_(model.qa_outputs.weight, 0, 1.5)
    model.save_pretrained(folder)
    t.save(str(folder / "tokenizer.json"), pretty=False)
    settings = {**names, "model_max_length": 96, "tokenizer_class": "PreTrainedTokenizerFast"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings) + "\n")
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=t, model_max_length=96, model_input_names=["input_ids", "token_type_ids", "attention_mask"],
                                                **names)
    if name != "word_piece":
        fast.model_input_names = ["input_ids", "attention_mask"]
    ask = transformers.pipeline("question-answering", model=model.double(), tokenizer=fast, device="cpu")
    cases = []
    for setting in SETTINGS:
        found = []
        for question, context in zip(QUESTIONS, CONTEXTS):
            answers = ask(question=question, context=context, **setting)
            found.append([trimmed(context, a) for a in (answers if isinstance(answers, list) else [answers]) if a["score"] > 0])
        cases.append({"setting": setting, "answers": found})
    return cases


def same_answer(self, answers, target):
    return next((a for a in answers if a["answer"].lower().strip() == target.lower().strip()), None)


if __name__ == "__main__":
    transformers.QuestionAnsweringPipeline.get_answer = same_answer
    expected = {"questions": QUESTIONS, "contexts": CONTEXTS, "models": {name: make(name, *parts) for name, parts in KINDS.items()}}
    (HERE / "expected.json").write_text(json.dumps(expected) + "\n")
    for path in HERE.rglob("*"):
        if path.is_file():
            path.chmod(0o644)
