#!/usr/bin/env python3
"""make_corpus.py - writes tests/fuzz/corpus/TARGET/*: the small inputs that each harness starts from.

They are parts of tests/golden, cut to a few KB, and files written by hand in this script. Lines of "====" separate the parts of one input.
"""

import json
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = HERE.parent / "golden"
CORPUS = HERE / "corpus"
BETWEEN = b"\n====\n"


def put(target, name, *parts):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    parts = [part if isinstance(part, bytes) else part.encode() if isinstance(part, str) else json.dumps(part).encode() for part in parts]
    (folder / name).write_bytes(BETWEEN.join(parts))


def golden(path):
    return (GOLDEN / path).read_bytes()


def header(path):
    data = golden(path)
    (size,) = struct.unpack("<Q", data[:8])
    return data[8:8 + size]


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def safetensors():
    two = {"a": entry("F32", [2, 3], 0, 24), "b": entry("BF16", [4], 24, 32), "__metadata__": {"format": "pt", "x": "\u202ey"}}
    put("safetensors", "two", two, bytes(range(32)))
    put("safetensors", "types", {name: entry(name, [2], 16 * i, 16 * i + size) for i, (name, size) in enumerate(
        [("F64", 16), ("I64", 16)])}, b"")
    text = json.dumps({"a": entry("F16", [3], 0, 6)}).encode()
    put("safetensors", "raw", struct.pack("<Q", len(text)) + text + b"abcdef")
    put("safetensors", "none", {}, b"")
    put("safetensors", "scalar", {"a": entry("I8", [], 0, 1), "b": entry("BOOL", [0, 5], 1, 1)}, b"\1")
    put("index", "two", {"metadata": {"total_size": 32}, "weight_map": {"a": "a.safetensors", "b": "b.safetensors"}},
        {"a": entry("F32", [2], 0, 8)}, {"b": entry("F32", [3], 0, 12)})
    put("index", "outside", {"weight_map": {"a": "../a.safetensors"}}, {"a": entry("F32", [2], 0, 8)})


def gguf():
    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()

    def key(name, kind, value):
        return text(name) + struct.pack("<I", kind) + value

    def strings(values):
        return struct.pack("<IQ", 8, len(values)) + b"".join(map(text, values))

    def file(keys, tensors, data):
        head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)) + b"".join(keys)
        for name, kind, offset, dims in tensors:
            head += text(name) + struct.pack("<I", len(dims)) + struct.pack(f"<{len(dims)}Q", *dims) + struct.pack("<IQ", kind, offset)
        return head + b"\0" * (-len(head) % 32) + data

    u32 = lambda name, value: key(name, 4, struct.pack("<I", value))
    put("gguf", "empty", file([], [], b""))
    put("gguf", "blocks", file([], [("a", 0, 0, [4, 2]), ("b", 8, 32, [32]), ("c", 2, 96, [64]), ("d", 12, 160, [256])], bytes(320)))
    put("gguf", "values", file([u32("a", 1), key("b", 6, struct.pack("<f", 0.5)), key("c", 7, b"\1"), key("d", 8, text("x")),
                                key("e", 9, struct.pack("<IQ3i", 5, 3, 1, 2, 3)), key("f", 9, strings(["a", "b"])),
                                key("g", 12, struct.pack("<d", 2)), key("h", 10, struct.pack("<Q", 2**63))], [], b""))
    tokens = ["<unk>", "<s>", "</s>", "\u2581", "a", "b", "ab", "<0x41>"]
    put("gguf", "llama", file([
        key("general.architecture", 8, text("llama")), u32("llama.block_count", 1), u32("llama.embedding_length", 8),
        u32("llama.attention.head_count", 2), u32("llama.feed_forward_length", 8), u32("llama.context_length", 16),
        key("llama.attention.layer_norm_rms_epsilon", 6, struct.pack("<f", 1e-5)), key("tokenizer.ggml.model", 8, text("llama")),
        key("tokenizer.ggml.tokens", 9, strings(tokens)), key("tokenizer.ggml.scores", 9, struct.pack("<IQ8f", 6, 8, *range(8))),
        key("tokenizer.ggml.token_type", 9, struct.pack("<IQ8i", 5, 8, 2, 3, 3, 1, 1, 1, 1, 6)),
        u32("tokenizer.ggml.bos_token_id", 1), u32("tokenizer.ggml.eos_token_id", 2)],
        [("token_embd.weight", 0, 0, [8, 8]), ("output_norm.weight", 0, 256, [8])], bytes(288)))
    for kind, extra in (("gpt2", [key("tokenizer.ggml.merges", 9, strings(["a b"]))]), ("bert", [])):
        put("gguf", kind, file([
            key("general.architecture", 8, text(kind)), u32(f"{kind}.block_count", 1), u32(f"{kind}.embedding_length", 8),
            u32(f"{kind}.attention.head_count", 2), u32(f"{kind}.context_length", 16), key("tokenizer.ggml.model", 8, text(kind)),
            key("tokenizer.ggml.pre", 8, text("llama-bpe")), key("tokenizer.ggml.tokens", 9, strings(tokens)), *extra],
            [("token_embd.weight", 0, 0, [8, 8])], bytes(256)))


def coded(path):
    """The config of a quantised model, and one of its matrices; the first rows of some are enough."""
    data, kept, body = path.read_bytes(), {}, b""
    (size,) = struct.unpack("<Q", data[:8])
    for name, held in json.loads(data[8:8 + size]).items():
        if "k_proj." in name or ".self.key.weight" in name:
            begin, end = (8 + size + at for at in held["data_offsets"])
            kept[name] = entry(held["dtype"], held["shape"], len(body), len(body) + end - begin)
            body += data[begin:end]
    config = json.loads((path.parent / "config.json").read_text())
    put("coded", path.parent.name, {key: config[key] for key in ("dtype", "quantization_config")}, kept, body)


def models():
    dims = struct.pack("<7i", 8, 16, 1, 2, 2, 320, 16)
    put("llama2c", "legacy", dims + bytes(4 * (320 * 8 + 8 + 3 * 64 + 64 + 8 + 3 * 128 + 8 + 2 * 32)))
    put("llama2c", "version1", struct.pack("<Ii", 0x616b3432, 1) + dims + b"\1" + bytes(219))
    put("ctranslate2", "bert", golden("ctranslate2/bert/model.bin"))
    put("ctranslate2", "marian", golden("ctranslate2/marian/model.bin")[:6000])
    put("npy", "two", b"\x93NUMPY\1\0v\0" + b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }".ljust(117) + b"\n" + bytes(24))
    put("npy", "none", b"\x93NUMPY\2\0\x4c\0\0\0" + b"{'shape': (0, 3), 'fortran_order': False, 'descr': '<f4'}".ljust(75) + b"\n")
    for path in sorted(GOLDEN.glob("models/*/config.json")):
        put("config", path.parent.name, path.read_bytes())
    put("config", "masked", golden("encoders/masked/config.json"))
    put("config", "labels", golden("encoders/classify/config.json"))
    for i, item in enumerate(json.loads(golden("jinja/expected.json"))):
        if i % 5 == 0:
            put("chat_template", f"own{i:02}", item["template"].encode())
    put("settings", "translate", golden("translate/generation_config.json"), {"chat_template": "{% for m in messages %}<|im_start|>"})
    put("settings", "all", {"num_beams": 4, "length_penalty": 0.6, "early_stopping": "never", "no_repeat_ngram_size": 2, "top_k": 5,
                            "bad_words_ids": [[1, 2], [3]], "suppress_tokens": [1, 5], "begin_suppress_tokens": [2], "temperature": 0.5,
                            "forced_bos_token_id": 1, "forced_eos_token_id": [0], "eos_token_id": [0, 2], "max_new_tokens": 7, "top_p": 0.9,
                            "min_length": 2, "repetition_penalty": 1.2, "do_sample": True, "decoder_start_token_id": 1, "min_p": 0.1},
        {"chat_template": [{"name": "default", "template": "[INST]"}], "eos_token": {"content": "</s>"}, "add_bos_token": True})
    put("sentence", "all", golden("encoders/sentence/modules.json"), golden("encoders/sentence/1_Pooling/config.json"),
        golden("encoders/sentence/2_Dense/config.json"), golden("encoders/sentence/sentence_bert_config.json"),
        golden("encoders/sentence/config_sentence_transformers.json"))
    for path in sorted(GOLDEN.glob("coded/*/model.safetensors")):
        coded(path)
    put("adapter", "attention", {"peft_type": "LORA", "r": 2, "lora_alpha": 4, "target_modules": ["c_attn"], "fan_in_fan_out": True,
                                 "rank_pattern": {"h.0": 2}, "alpha_pattern": {}, "use_rslora": True},
        {f"base_model.model.transformer.h.{i}.attn.c_attn.lora_{x}.weight": entry("F32", shape, 2048 * i + at, 2048 * i + at + size)
         for i in range(1) for x, shape, at, size in (("A", [2, 32], 0, 256), ("B", [96, 2], 256, 768))}, b"")


def tokenizers():
    vocabulary = {"<u>": 0, "a": 1, "b": 2, "ab": 3, "\u2581": 4, "c": 5, "##a": 6, "<s>": 7, "</s>": 8, "<0x41>": 9}
    bpe = {"type": "BPE", "vocab": vocabulary, "merges": ["a b"], "unk_token": "<u>", "byte_fallback": True}
    added = [{"id": 7, "content": "<s>", "special": True, "lstrip": True}, {"id": 10, "content": "x y", "normalized": True, "single_word": True}]

    def replace(pattern, content):
        return {"type": "Replace", "pattern": pattern, "content": content}

    normalizers = [{"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}, {"type": "StripAccents"}, {"type": "Strip"},
                                                         replace({"String": "a"}, "aab"), {"type": "Prepend", "prepend": "\u2581"}]},
                   replace({"Regex": "\\s+|(a|b)+c"}, "b"), {"type": "BertNormalizer", "lowercase": True},
                   {"type": "Precompiled", "precompiled_charsmap": "BAAAAAAAAAA="}]
    cuts = [{"type": "ByteLevel", "add_prefix_space": True, "use_regex": True}, {"type": "Metaspace", "replacement": "\u2581"},
            {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, {"type": "Punctuation"},
                                                   {"type": "Split", "pattern": {"Regex": "a+|\\p{L}*"}, "behavior": "MergedWithNext"}]},
            {"type": "Whitespace"}]
    decoders = [{"type": "ByteLevel"}, {"type": "Sequence", "decoders": [replace({"String": "\u2581"}, " "), {"type": "ByteFallback"},
                                                                         {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 1}]},
                {"type": "WordPiece", "prefix": "##", "cleanup": True}, {"type": "BPEDecoder", "suffix": "</w>"}]
    template = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}], "special_tokens": {"<s>": {"ids": [7]}}}
    for i in range(4):
        put("tokenizer_json", f"bpe{i}", {"added_tokens": added, "normalizer": normalizers[i], "pre_tokenizer": cuts[i], "decoder": decoders[i],
                                          "post_processor": template, "model": bpe}, "a ab  c\u00e9 x y <s> 12 aaab\n")
    put("tokenizer_json", "unigram", {"model": {"type": "Unigram", "unk_id": 0, "vocab": [["<u>", 0], ["a", -1], ["b", -2.5], ["ab", -1]]},
                                      "pre_tokenizer": cuts[1], "decoder": {"type": "Metaspace"}})
    put("tokenizer_json", "wordpiece", {"model": {"type": "WordPiece", "vocab": vocabulary, "unk_token": "<u>", "max_input_chars_per_word": 9},
                                        "post_processor": {"type": "BertProcessing", "cls": ["<s>", 7], "sep": ["</s>", 8]}, "pre_tokenizer":
                                        {"type": "BertPreTokenizer"}, "truncation": {"max_length": 9}})
    put("tokenizer_json", "wordlevel", {"model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<u>"}})
    put("sentencepiece", "bpe", golden("tokenizers/small.model")[:3000])
    for name in ("small", "unigram", "unigram_map"):
        data = golden(f"tokenizers/{name}.model")
        if len(data) < 20000:
            put("sentencepiece", name, data)
    put("llama2c_tokenizer", "small", golden("tokenizers/small.bin"))
    put("llama2c_tokenizer", "three", struct.pack("<i", 5) + b"".join(struct.pack("<fi", -i, len(p)) + p for i, p in
                                                                   enumerate([b"<unk>", b"<s>", b"ab"])))
    put("vocab_txt", "small", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n##a\n##b\nab\n\u00e9\n!\n", "ab ba A\u00c9! \u4f60")
    put("vocab_txt", "names", "a\r\n\n##\n[UNK]\n[CLS]")
    ranks = json.loads(golden("tokenizers/ranks.json"))
    put("tiktoken", "small", ranks["tiktoken"], "It's  a SUMMER day\n <|endoftext|> \u6f22\u5b57 1234")
    put("tiktoken", "lines", "AA== 0\r\nAQ== 1\n= 2\nAg==\n")
    put("tekken", "small", ranks["tekken"], "It's camelCase [INST] \u00e9 1234<s>")
    put("tekken", "specials", {"config": {"pattern": "a+", "default_vocab_size": 5, "default_num_special_tokens": 3}, "vocab": [
        {"rank": 0, "token_bytes": "AA==", "token_str": "\0"}, {"rank": 1, "token_bytes": "YQ==", "token_str": "a"}], "special_tokens": [
            {"rank": 0, "token_str": "<unk>", "is_control": True}, {"rank": 1, "token_str": "<s>", "is_control": True}]})
    put("vocab_and_merges", "gpt2", {"a": 0, "b": 1, "ab": 2, "\u0120": 3, "<|endoftext|>": 4}, "#version: 0.2\na b\n",
        {"bos_token": "<|endoftext|>", "tokenizer_class": "GPT2Tokenizer", "model_max_length": 10**30}, {"eos_token": {"content": "<|endoftext|>"}})
    put("vocab_and_merges", "marian", {"</s>": 0, "<unk>": 1, "a": 2, "<pad>": 3}, "", {"source_lang": "de", "tokenizer_class": "MarianTokenizer"})
    put("text", "mixed", "One line.\r\nTwo \u00e4 e\u0301\u0323 \ufdfa \ud55c\uae00\n\n\t<s> [MASK] \u2581 12\n  end")
    put("text", "broken", b"a\xff\xc3\n\xe4\xbd\xa0\xed\xa0\x80\0b\n\xef\xbb\xbf")
    put("text", "marked", b"\xef\xbb\xbfa\n" + "\u0301\u0316".encode() * 40)


def grammars():
    put("grammar", "json", (
        'root ::= object\nvalue ::= object | "[" ws (value ("," ws value)*)? "]" | string | [0-9]+ | ("true" | "null") # a value\n'
        'object ::= "{" ws (\n  string ":" ws value ("," ws string ":" ws value)*)? "}"\n'
        'string ::= "\\"" ([^"\\\\\\x00-\\x1F] | "\\\\" (["\\\\/bfnrt] | "u" [0-9a-fA-F]{4}))* "\\""\nws ::= | " " | "\\n" [ \\t]{0,20}\n'),
        bytes(range(256)))
    put("grammar", "repeats", 'root ::= ("a"{2,5} [^b-x\\u00e4]? b+){1,3} .\nb ::= "b" | "(" root ")"', "aaabbaab()")
    put("json_schema", "all", {
        "$defs": {"n": {"type": "object", "properties": {"v": {"type": "integer", "minimum": -5, "exclusiveMaximum": 1000}, "n": {"anyOf": [
            {"$ref": "#/$defs/n"}, {"type": "null"}]}}, "required": ["n"], "additionalProperties": False}},
        "allOf": [{"properties": {"a": {"$ref": "#/$defs/n"}}}, {"required": ["a"]}], "type": "object", "additionalProperties": {"enum": ["x", 1.5]},
        "properties": {"b": {"type": ["string", "null"], "minLength": 1, "maxLength": 9}, "c": {"prefixItems": [{"const": "k"}], "items": {}, "maxItems": 4},
                       "d": {"type": "string", "pattern": "^[a-c]+(\\\\d|x{2,3}?)$"}, "e": {"type": "string", "format": "date-time"},
                       "f": {"type": "number", "minimum": 0, "maximum": 7}, "g": {"oneOf": [True, {"nullable": True, "type": "boolean"}]}}},
        bytes(range(1, 256)))


def training():
    for path in sorted((HERE.parents[1] / "recipes").glob("*.json")):
        put("recipe", path.stem, path.read_bytes())
    put("data", "jsonl", '{"text": "a", "label": 1, "source": "b", "target": "c"}\n{"text": "\\u00e9\\n", "label": "x", "source": "", "target": "d"}\n')
    put("data", "csv", 'text,label,source,target\r\n"a ""b""\nc",1,x,y\r\n,2,,\r\n"d",3,"e","f"')
    put("data", "tsv", "a\tb\nc d\t1\n\n\u00e9\te\n")
    put("data", "json", [{"text": "a", "label": 0}, {"text": "b", "label": 1}])
    manifest = {"format": 1, "step": 3, "tokens": 10, "seconds": 0.5, "loss": 1.5, "eval_loss": None, "best": None, "best_step": 0, "without_better": 0,
                "eval_step": 0, "data": "x", "settings": {"lr": 0.1}, "files": {"state.safetensors": {"size": 0, "sha256": ""}}}
    put("checkpoint", "whole", manifest, "state")
    put("checkpoint", "outside", {**manifest, "files": {"../x": {"size": 0, "sha256": ""}, "state.safetensors": {"size": 5, "sha256": "0"}}}, "state")
    put("state", "gpt2", header("training/gpt2/final.safetensors"), b"")
    put("state", "none", {}, b"")
    put("page", "log", '{"step": 1, "loss": 2.5, "lr": 0.1}\n{"step": 2, "loss": 2.25, "eval_loss": 3, "grad_norm": 1e3}\n{"step": 2, "loss": null}\nx\n')
    put("page", "name", '</script><!--<script>\u2028\n{"step": 1, "loss": 1}\n')
    kernel = {"name": "linear_plain", "variant": "linear/plain:W_DTYPE=F32", "tunables": {}, "arguments": 5}
    put("bundle", "one", {"format": "tessera-bundle", "version": 1, "engine": "", "kernel_abi": 1, "sources": "", "options": "-cl-std=CL1.2",
                          "source_sha256": "", "target": {"platform": "P", "device": "D", "driver": "1"}, "kernels": [
                              kernel, {**kernel, "variant": "linear/packed:MR=4", "tunables": {"MR": 4}}, {**kernel, "variant": "pack_rows:K=2"}]})
    put("tuned", "lines", "Platform\tDevice\tcpu\tlinear/packed\tW_DTYPE=F32,rows=2-8\tMR=4,NV=2\n*\t*\t*\tlinear/plain\t-\tscore=95\n"
                          "# a comment\nPl*\tDev?ce\tother\tlinear/packed\trows=64-\tMR=2\n")


def requests():
    """Bodies for tessera serve, and answers of a model in a form of calls."""
    weather = {"type": "function", "function": {"name": "weather", "description": "x", "parameters": {
        "type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}}}
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{\"city\": \"Ulm\"}"}}
    messages = [{"role": "developer", "content": "Be."}, {"role": "user", "content": [{"type": "text", "text": "Rain"}, {"type": "text", "text": "?"}]},
                {"role": "assistant", "content": None, "tool_calls": [call], "reasoning_content": "so"}, {"role": "tool", "tool_call_id": "c1", "content": "no"}]
    put("request", "completion", {
        "model": "shakespeare", "prompt": [1, 2, 3], "max_tokens": 8, "temperature": 0.5, "top_p": 0.9, "top_k": 5, "min_p": 0.1, "repetition_penalty": 1.1,
        "presence_penalty": -1, "frequency_penalty": 0.5, "logit_bias": {"3": -100, "5": 1.5}, "min_tokens": 1, "ignore_eos": True, "n": 2, "best_of": 3, "echo": False,
        "stop": ["a", "\n"], "seed": -7, "logprobs": 3, "suffix": "", "user": "me", "stream": False, "stream_options": None})
    put("request", "grammar", {"prompt": ["a", "b"], "stream": True, "stream_options": {"include_usage": True}, "stop": "x", "grammar": 'root ::= "a" [0-9]{1,3} | <[1]>'})
    put("request", "schema", {"messages": messages[:2], "max_completion_tokens": 5, "logprobs": True, "top_logprobs": 2, "metadata": {"a": "b"}, "response_format": {
        "type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": weather["function"]["parameters"]}}})
    put("request", "object", {"messages": messages[1:2], "response_format": {"type": "json_object"}, "store": False, "tools": [], "tool_choice": "none"})
    put("request", "calls", {"messages": messages, "tools": [weather], "tool_choice": "auto", "parallel_tool_calls": True},
        'Well.\n<tool_call>\n{"name": "weather", "arguments": {"city": "Ulm", "days": 2}}\n</tool_call>\n<tool_call>\n{"name": "weather", "arguments": {"ci')
    put("request", "must_call", {"messages": messages[1:2], "tools": [weather, {"type": "function", "function": {"name": "none"}}], "tool_choice": "required"},
        ' {"name": "none", "parameters": {"a": [1, "}"]}}')
    put("request", "one_call", {"messages": messages[1:2], "tools": [weather], "tool_choice": {"type": "function", "function": {"name": "weather"}}},
        '{"name": "weather", "arguments": {"city": "\u00e4"}}')
    put("request", "variables", {"messages": messages[1:2], "chat_template_kwargs": {"enable_thinking": False, "x": [1, "a"]}, "reasoning_effort": "low"})
    put("request", "ranks", {"query": "sea", "documents": ["a", {"text": "the sea"}], "top_n": 1, "return_documents": True, "user": "me"})
    put("request", "attention", {"content": "to be", "layers": [0, 3], "heads": [1, 2], "user": None})
    put("request", "attention_tokens", {"tokens": [1, 2, 3], "model": "shakespeare"})
    put("request", "attention_messages", {"messages": messages[1:2], "layers": None})
    put("request", "either", {"messages": messages[1:2], "tools": [weather], "response_format": {"type": "json_schema", "json_schema": {"schema": {}}}}, '{"name": "weat')


def results():
    sys.path.insert(0, str(HERE.parent / "cli"))
    from support.results import job, model, peaks, results as whole, row
    rows = peaks() + [job("pp8", 100.0, 8, runs=3), job("tg4", 10.0, 4, runs=3, class_name="q8"), row("pp9", "prompt", [], status="failed-accuracy",
                                                                                                    reason="</script>|\"<&\u2028", model=0)]
    put("results", "small", json.dumps(whole(rows=rows, models=[model(name="=a</script>")]), indent=1)[:-2] + ",")
    put("results", "empty", json.dumps(whole(rows=[]), indent=1)[:-2] + ",")


safetensors()
gguf()
models()
tokenizers()
grammars()
training()
requests()
results()
