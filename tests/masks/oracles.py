#!/usr/bin/env python3
"""oracles.py MASKS - compares masks with those of llguidance and xgrammar along random texts, and random texts of JSON schemas with what jsonschema says of
them. Each part is left out where its library is not installed; without all of them the test is skipped."""

import importlib.util
import json
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOKENIZER = ROOT / "models" / "shakespeare" / "tokenizer.json"
GRAMMARS = (
    'root ::= value\nvalue ::= "{" (text ":" value ("," text ":" value)*)? "}" | "[" (value ("," value)*)? "]" | text | number | "true" | "null"\n'
    'text ::= "\\"" ([^"\\\\\\x00-\\x1F] | "\\\\" (["\\\\/bfnrt] | "u" [0-9a-fA-F]{4}))* "\\""\n'
    'number ::= "-"? ("0" | [1-9] [0-9]{0,15}) ("." [0-9]+)? ([eE] [-+]? [0-9]+)?\n',
    'root ::= [A-Z] [a-z\u00e4-\u4f60]{2,9} " of " ("the " | "a ")? [^x ]+ "."\n',
)
SCHEMAS = (
    {"type": "object", "properties": {"a": {"type": "string", "maxLength": 4}, "b": {"type": "integer", "minimum": -20, "maximum": 300},
                                      "c": {"enum": ["x", 1.5, None]}}, "required": ["b"], "additionalProperties": {"type": "boolean"}},
    {"type": "array", "items": {"anyOf": [{"type": "number", "minimum": -3, "exclusiveMaximum": 7}, {"type": "string", "format": "date"}]}, "minItems": 1, "maxItems": 3},
    {"$defs": {"n": {"type": "object", "properties": {"v": {"type": "string", "pattern": "^[a-c]+\\d{2}$|x"}, "n": {"$ref": "#/$defs/n"}}, "required": ["v"],
                     "additionalProperties": False}}, "allOf": [{"$ref": "#/$defs/n"}, {"properties": {"v": {"type": "string"}}}]},
    {"prefixItems": [{"type": "integer", "exclusiveMinimum": 99}, {"type": ["string", "null"], "format": "email"}], "items": False},
    {"type": "object", "properties": {"nx": {"minimum": 3}}, "patternProperties": {"^n": {"type": "integer", "maximum": 40}, "x$": {"maximum": 99}}, "required": ["nx"],
     "propertyNames": {"maxLength": 3}, "additionalProperties": {"type": "null"}},
    {"type": "string", "pattern": "^([a-e]+-)*\\d|z$", "minLength": 3, "maxLength": 7},
    {"oneOf": [{"type": "object", "properties": {"k": {"const": "a"}, "n": {"type": "null"}}, "required": ["k"], "additionalProperties": False}, {"type": "object", "properties": {
        "k": {"enum": ["b", 1]}, "n": {"type": "boolean"}}, "required": ["k"]}, {"type": "array", "items": {"type": "null"}, "maxItems": 3}, {"enum": ["a", 7]}]},
    {"properties": {name: {"type": "boolean"} for name in "abc"}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}], "type": "object"},
    *({"type": "string", "format": name, "maxLength": 45} for name in ("ipv4", "ipv6", "duration", "date-time")),
    *({"type": "string", "format": name} for name in ("hostname", "email", "uri", "uuid", "time")),
)


class Masks:
    """The program with one grammar: ask(ids) gives the ids that may follow, and whether the text may end."""

    def __init__(self, program, kind, text):
        self.file = tempfile.NamedTemporaryFile("w", suffix=kind)
        self.file.write(text)
        self.file.flush()
        self.process = subprocess.Popen([program, TOKENIZER, kind, self.file.name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, ids):
        self.process.stdin.write(" ".join(map(str, ids)) + "\n")
        self.process.stdin.flush()
        words = self.process.stdout.readline().split()
        return {int(word) for word in words if word != "end"}, "end" in words

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.file.close()


def pick(draw, allowed, tokens):
    """Half of the time one of the shortest, which are the signs that a text is made of."""
    some = sorted(allowed, key=lambda i: (len(tokens[i]), i))
    return draw.choice(some[:30] if draw.random() < 0.5 else some)


def compare(program, tokens, name, seed, begin):
    """Along random texts of each grammar. begin(text): another library's two functions, of which mask() gives words of 32 bits, the last
    id of which is the end, and whether these may lack tokens; and take(id)."""
    draw, compared, end = random.Random(seed), 0, len(tokens)
    for text in GRAMMARS:
        with Masks(program, "gbnf", text) as masks:
            for _ in range(6):
                (mask, take), ids = begin(text), []
                for _ in range(12):
                    own, ends = masks.ask(ids)
                    words, part = mask()
                    theirs = {i for i in range(end + 1) if words[i // 32] >> (i % 32) & 1}
                    after = b"".join(tokens[i] for i in ids)
                    same = theirs - {end} <= own if part else own == theirs - {end}
                    assert same, (name, after, [tokens[i] for i in own ^ (theirs - {end})])
                    assert ends == (end in theirs), (name, after)
                    compared += 1
                    if not own:
                        break
                    ids.append(pick(draw, own, tokens))
                    take(ids[-1])
    print(f"{compared} masks as {name} has them")


def with_end(tokens):
    """The vocabulary of another library: a token without bytes is one that no text has, and the last one is the end."""
    return [token or b"\xff<none %d>" % i for i, token in enumerate(tokens)] + [b"\xff<end>"]


def against_llguidance(program, tokens):
    import llguidance
    from llguidance.gbnf_to_lark import any_to_lark

    end = len(tokens)

    class Vocabulary:
        eos_token_id = bos_token_id = end
        special_token_ids = [end]
        tokens: list = []

        def __call__(self, text):
            return [self.tokens.index(bytes([byte])) for byte in (text if isinstance(text, bytes) else text.encode())]

    Vocabulary.tokens = with_end(tokens)
    vocabulary = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Vocabulary()))

    def begin(text):
        matcher = llguidance.LLMatcher(vocabulary, llguidance.LLMatcher.grammar_from_lark(any_to_lark(text)))

        def mask():
            bits = matcher.compute_bitmask()
            words = [int.from_bytes(bits[i:i + 4], "little") for i in range(0, len(bits), 4)]
            # Where the next bytes are certain, llguidance allows one way to cut them into tokens alone.
            return words, bool(matcher.compute_ff_bytes())
        return mask, matcher.consume_token
    compare(program, tokens, "llguidance", 1, begin)


def against_xgrammar(program, tokens):
    import xgrammar

    vocabulary = with_end(tokens)
    compiler = xgrammar.GrammarCompiler(xgrammar.TokenizerInfo(vocabulary, vocab_size=len(vocabulary), stop_token_ids=[len(tokens)]))

    def begin(text):
        matcher, words = xgrammar.GrammarMatcher(compiler.compile_grammar(text)), xgrammar.allocate_token_bitmask(1, len(vocabulary))

        def mask():
            matcher.fill_next_token_bitmask(words)
            return [word & 0xffffffff for word in words[0].tolist()], False
        return mask, matcher.accept_token
    compare(program, tokens, "xgrammar", 3, begin)


def against_jsonschema(program, tokens):
    import jsonschema

    draw, whole = random.Random(2), 0
    for schema in SCHEMAS:
        checker = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
        with Masks(program, "schema", json.dumps(schema)) as masks:
            for _ in range(8):
                ids = []
                for _ in range(80):
                    own, ends = masks.ask(ids)
                    if not own or (ends and draw.random() < 0.5):
                        break
                    ids.append(pick(draw, own, tokens))
                text = b"".join(tokens[i] for i in ids)
                if ends:
                    checker.validate(json.loads(text))
                    whole += 1
    assert whole > 10, whole
    print(f"{whole} texts that jsonschema finds valid")


def main():
    program = sys.argv[1]
    lines = subprocess.run([program, TOKENIZER], capture_output=True, text=True, check=True).stdout.split("\n")[:-1]
    tokens = [bytes.fromhex(line) for line in lines]
    oracles = {"llguidance": against_llguidance, "xgrammar": against_xgrammar, "jsonschema": against_jsonschema}
    have = [name for name in oracles if importlib.util.find_spec(name)]
    for name, against in oracles.items():
        if name in have:
            against(program, tokens)
        else:
            print(f"left out: {name} is not installed (it is on PyPI)")
    if not have:
        print("SKIP: neither llguidance nor xgrammar nor jsonschema is installed (all are on PyPI)")
        sys.exit(77)


if __name__ == "__main__":
    main()
