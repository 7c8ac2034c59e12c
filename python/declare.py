#!/usr/bin/env python3
"""python/declare.py [--check] - writes python/tessera_cl/_declarations.py from the headers in include/tessera.

The file has every constant, struct and function of the public interface as ctypes sees them, and for the structs that
results are read from (RECORDS) a frozen dataclass with Python's types. --check writes nothing: it fails where the file differs.

Of C it reads what the headers are written in: typedefs of enums, structs and functions, and functions marked TSR_API. Anything
else ends it with an error that names the place. Rules that C can't express:
  - `const char *` is a text that ends with a 0 byte (c_char_p), but a pointer to bytes where a size stands behind it:
    `data, size` and `text, text_size` in a struct, and what a function with a `size_t *size` returns
  - a uint32_t of a record is a bool where its comment says what 1 or 0 means, its name begins with is_ or has_, or BOOLS has it;
    and a name ("miss" for TSR_VERIFY_MISS) where its comment, or ENUMS, gives its enum
"""

import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[1]
HEADERS = ROOT / "include"
OUT = ROOT / "python" / "tessera_cl" / "_declarations.py"

SCALARS = {"int": "c_int", "char": "c_char", "float": "c_float", "double": "c_double", "size_t": "c_size_t", "uint8_t": "c_uint8",
           "int16_t": "c_int16", "int32_t": "c_int32", "uint32_t": "c_uint32", "int64_t": "c_int64", "uint64_t": "c_uint64", "void": "None"}
PYTHON = {"c_float": "float", "c_double": "float", "c_char_p": "str"}
# Structs of results: the dataclass, and what its docstring begins with.
RECORDS = {
    "tsr_model_info": ("ModelInfo", "What a model is."),
    "tsr_model_memory": ("ModelMemory", "Device memory that a model uses, in bytes."),
    "tsr_facts": ("DeviceFacts", "What is known of a device without opening it."),
    "tsr_embedder_info": ("EmbedderInfo", "What an embedder gives."),
    "tsr_embed_stats": ("EmbedStats", "What one call of encode took."),
    "tsr_generate_stats": ("GenerateStats", "Tokens and times of one generation; times in nanoseconds."),
    "tsr_explained_variant": ("ExplainedVariant", "A kernel variant that was considered for an op."),
    "tsr_explained": ("ExplainedOp", "An op of a plan, and the kernel variants that were considered for it."),
    "tsr_profiled": ("Profiled", "The time of one kernel over everything that a model ran."),
    "tsr_verify_result": ("VerifyResult", "One case on one kernel variant, compared with the reference."),
    "tsr_verify_summary": ("VerifySummary", "Results by status."),
    "tsr_train_plan": ("TrainPlan", "What will be trained, as known before the first step."),
    "tsr_train_event": ("TrainEvent", "What a training tells its callback."),
    "tsr_train_result": ("TrainResult", "How a training ended."),
    "tsr_perplexity": ("Perplexity", "How well a model predicts a text."),
}
BOOLS = {("tsr_explained_variant", "chosen"), ("tsr_explained_variant", "fits"), ("tsr_explained_variant", "batch_variant")}
ENUMS = {("tsr_train_event", "kind"): "tsr_train_event_kind"}
LENGTHS = {("tsr_explained", "variants"): "n_rows"}  # arrays whose length is not n_<name>


class Failure(Exception):
    pass


def in_order():
    """The headers, each after those that it includes."""
    order = []

    def add(name):
        text = (HEADERS / name).read_text(encoding="utf-8")
        for needed in re.findall(r'#include "(tessera/\w+\.h)"', text):
            if needed not in order:
                add(needed)
        if name not in order:
            order.append(name)

    add("tessera/tessera.h")
    return order


def tokens(name):
    """(kind, text, line) of a header, kind being word, number, mark or doc; directives and plain comments are dropped."""
    text = (HEADERS / name).read_text(encoding="utf-8")
    text = re.sub(r"#ifdef __cplusplus.*?#endif", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
    text = re.sub(r"^[ \t]*#(?:.*\\\n)*.*", lambda m: "\n" * m[0].count("\n"), text, flags=re.M)
    pattern = re.compile(r"(?P<doc>/\*\*.*?\*/)|(?P<plain>/\*.*?\*/)|(?P<word>[A-Za-z_]\w*)|(?P<number>-?\d\w*)|(?P<mark><<|[{}()\[\],;=*:])|(?P<space>\s+)|(?P<other>.)", re.S)
    line, found = 1, []
    for match in pattern.finditer(text):
        kind = match.lastgroup
        if kind == "other":
            raise Failure(f"{name}:{line}: {match[0]!r} is not understood")
        if kind not in ("plain", "space"):
            found.append((kind, match[0], line))
        line += match[0].count("\n")
    return found


def said(comment):
    """The text of a doc comment on one line."""
    text = re.sub(r"^/\*\*<?|\*/$", "", comment)
    return " ".join(re.sub(r"^\s*\* ?", "", line).strip() for line in text.splitlines()).strip()


class Type:
    """A C type: its base, which of its levels are const ([0]: of the base), and how many pointers."""

    def __init__(self, base, const, pointers):
        self.base, self.const, self.pointers = base, const, pointers


class Reader:
    """Reads one header into `api`."""

    def __init__(self, name, api):
        self.name, self.api, self.list, self.at = name, api, tokens(name), 0

    def peek(self, ahead=0):
        rest = [t for t in self.list[self.at:self.at + 40] if t[0] != "doc"]
        return rest[ahead][1] if ahead < len(rest) else ""

    def docs(self):
        """Comments that stand here."""
        found = []
        while self.at < len(self.list) and self.list[self.at][0] == "doc":
            found.append(self.list[self.at][1])
            self.at += 1
        return found

    def next(self, wanted=None):
        self.docs()
        if self.at >= len(self.list):
            raise Failure(f"{self.name}: ends too early")
        _, text, line = self.list[self.at]
        self.at += 1
        if wanted is not None and text != wanted:
            raise Failure(f"{self.name}:{line}: {text!r} stands where {wanted!r} is expected")
        return text

    def read(self):
        while True:
            self.docs()
            if self.at >= len(self.list):
                return
            word = self.next()
            if word == "typedef":
                self.typedef()
            elif word == "enum":
                self.constants()
                self.next(";")
            elif word == "TSR_API":
                self.function()
            else:
                raise Failure(f"{self.name}: {word!r} begins something that is not understood")

    def typedef(self):
        if self.peek() == "enum":
            self.next()
            self.next()
            first = len(self.api.constants)
            self.constants()
            self.api.enums[self.next()] = [name for name, _ in self.api.constants[first:]]
        elif self.peek() == "struct" and self.peek(2) == "{":
            self.next()
            name = self.next()
            self.next("{")
            fields = self.fields()
            self.next(name)
            self.api.structs.append((name, fields))
        elif self.peek() == "struct" and self.peek(3) == ";":
            self.next()
            name = self.next()
            self.next(name)
            self.api.structs.append((name, None))
        else:
            result = self.stars(self.type())
            if self.peek(1) == ";":
                self.api.aliases[self.next()] = result.base
                self.next(";")
                return
            self.next("(")
            self.next("*")
            name = self.next()
            self.next(")")
            self.api.types.append((name, self.signature(result)))
        self.next(";")

    def constants(self):
        self.next("{")
        value = -1
        while self.peek() != "}":
            name = self.next()
            if self.peek() == "=":
                self.next()
                parts = []
                while self.peek() not in (",", "}"):
                    parts.append(self.next())
                value = " ".join(parts)
                if re.fullmatch(r"-?\d+", value):
                    value = int(value)
            else:
                value += 1
            self.api.constants.append((name, value))
            if self.peek() == ",":
                self.next()
        self.next("}")

    def type(self):
        const = False
        base = None
        while base is None or self.peek() in ("const", "long"):
            word = self.next()
            if word == "const":
                const = True
            elif word != "struct":
                base = word
        return Type(base, const, 0)

    def stars(self, base):
        pointers = 0
        while self.peek() in ("*", "const"):
            pointers += self.next() == "*"
        return Type(base.base, base.const, pointers)

    def array(self):
        if self.peek() != "[":
            return None
        self.next()
        size = "" if self.peek() == "]" else self.next()
        self.next("]")
        return size

    def signature(self, result):
        """The parameters that follow, of a function that gives `result`: (result, [(type or signature, name)])."""
        self.next("(")
        parameters = []
        if self.peek() == "void" and self.peek(1) == ")":
            self.next()
        while self.peek() != ")":
            base = self.type()
            kind = self.stars(base)
            if self.peek() == "(":
                self.next()
                self.next("*")
                name = self.next()
                self.next(")")
                kind = self.signature(kind)
            else:
                name = self.next()
                if self.array() is not None:
                    kind = Type(kind.base, kind.const, kind.pointers + 1)
            parameters.append((kind, name))
            if self.peek() == ",":
                self.next()
        self.next(")")
        return result, parameters

    def fields(self):
        """[(name, type or signature, array or None, comment)] up to the closing brace."""
        found = []
        while True:
            before = [c for c in self.docs() if not c.startswith("/**<")]
            if self.peek() == "}":
                self.next()
                return found
            base = self.type()
            first = len(found)
            while True:
                kind = self.stars(base)
                if self.peek() == "(":
                    self.next()
                    self.next("*")
                    name = self.next()
                    self.next(")")
                    found.append((name, self.signature(kind), None, ""))
                else:
                    name = self.next()
                    found.append((name, kind, self.array(), ""))
                if self.peek() != ",":
                    break
                self.next()
            self.next(";")
            behind = []
            while self.at < len(self.list) and self.list[self.at][0] == "doc" and self.list[self.at][1].startswith("/**<"):
                behind.append(self.list[self.at][1])
                self.at += 1
            comment = " ".join(said(c) for c in before[-1:] + behind)
            found[first:] = [(name, kind, array, comment) for name, kind, array, _ in found[first:]]

    def function(self):
        base = self.type()
        result = self.stars(base)
        name = self.next()
        self.api.functions.append((name, self.signature(result)))
        self.next(";")


class Api:
    def __init__(self):
        self.constants, self.structs, self.types, self.functions = [], [], [], []
        self.enums, self.aliases = {}, {}
        for name in in_order():
            Reader(name, self).read()

    def ctype(self, kind, sized=False):
        """The ctypes expression of a type; sized: a size stands behind this text."""
        if isinstance(kind, tuple):
            return self.callback(kind)
        name = self.aliases.get(kind.base, kind.base)
        base = SCALARS.get(name) or ("c_int" if name in self.enums else name)
        pointers = kind.pointers
        if pointers and base == "c_char" and kind.const and not sized:
            base, pointers = "c_char_p", pointers - 1
        elif pointers and base == "None":
            base, pointers = "c_void_p", pointers - 1
        return "POINTER(" * pointers + base + ")" * pointers

    def callback(self, signature):
        result, parameters = signature
        return f"CFUNCTYPE({', '.join([self.ctype(result)] + [self.ctype(kind) for kind, _ in parameters])})"

    def field_type(self, fields, i):
        name, kind, array, _ = fields[i]
        behind = fields[i + 1][0] if i + 1 < len(fields) else ""
        text = self.ctype(kind, sized=behind in (f"{name}_size", "size"))
        return f"{text} * {array}" if array else text


def words(constants):
    """The names of an enum's values without what all begin with: ["ok", "miss"]."""
    parts = [constant.lower().split("_") for constant in constants]
    same = 0
    while all(len(p) > same + 1 and p[same] == parts[0][same] for p in parts):
        same += 1
    return ["_".join(p[same:]) for p in parts]


def record(api, name, fields):
    """The dataclass of a struct of results."""
    title, about = RECORDS[name]
    lengths = {LENGTHS.get((name, field[0]), f"n_{field[0]}") for field in fields}
    shown, values = [], []
    for i, (field, kind, array, comment) in enumerate(fields):
        if field in ("struct_size", "reserved") or field in lengths:
            continue
        c = api.field_type(fields, i)
        inner = re.fullmatch(r"POINTER\((\w+)\)", c)
        if inner:
            length = LENGTHS.get((name, field), f"n_{field}")
            struct = RECORDS.get(inner[1])
            if any(length == f[0] for f in fields):
                element = struct[0] if struct else "int" if inner[1].startswith("c_") else None
                convert = f"{element}._of(s.{field}[i])" if struct else f"{element}(s.{field}[i])"
                shown.append((field, f"Tuple[{element}, ...]", comment))
                values.append(f"tuple({convert} for i in range(s.{length}))")
            elif struct:
                shown.append((field, f"Optional[{struct[0]}]", comment))
                values.append(f"{struct[0]}._of(s.{field}[0]) if s.{field} else None")
            else:
                raise Failure(f"{name}.{field}: its length is not known")
        elif array:
            shown.append((field, "Tuple[int, ...]", comment))
            values.append(f"tuple(n for n in s.{field} if n)")
        elif c == "c_char_p":
            shown.append((field, "str", comment))
            values.append(f"_text(s.{field})")
        elif c == "c_uint32" and (named := ENUMS.get((name, field)) or re.fullmatch(r"tsr_\w+", comment) and comment):
            shown.append((field, "str", ", ".join(f'"{word}"' for word in words(api.enums[named]))))
            values.append(f"_name(NAMES_OF_{named.upper()}, s.{field})")
        elif c == "c_uint32" and (re.search(r"(^|: )[01]: ", comment) or field.startswith(("is_", "has_")) or (name, field) in BOOLS):
            shown.append((field, "bool", comment))
            values.append(f"bool(s.{field})")
        else:
            shown.append((field, PYTHON.get(c, "int"), comment))
            values.append(f"s.{field}")
    lines = ["@dataclass(frozen=True)", f"class {title}:", f'    """{about}', ""]
    for comment in dict.fromkeys(comment for _, _, comment in shown if comment):  # fields of one comment stand together
        fields_of = ", ".join(field for field, _, c in shown if c == comment)
        lines += textwrap.wrap(f"{fields_of}: {comment}".replace("\\", "\\\\"), 120, initial_indent="    ", subsequent_indent="        ")
    if lines[-1] == "":
        lines[-2] += '"""'
        lines.pop()
    else:
        lines.append('    """')
    lines.append("")
    lines += [f"    {field}: {kind}" for field, kind, _ in shown]
    lines += ["", "    @classmethod", f'    def _of(cls, s: {name}) -> "{title}":', "        return cls("]
    lines += [f"            {value}," for value in values] + ["        )"]
    return lines


def text():
    api = Api()
    lines = ['"""Tessera\'s C interface as ctypes sees it. Written by python/declare.py from include/tessera/*.h: do not edit."""',
             "", "from ctypes import (CDLL, CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_size_t,",
             "                    c_uint32, c_uint64, c_void_p)",
             "from dataclasses import dataclass", "from typing import Any, Dict, List, Optional, Tuple", "", "", "# Constants", ""]
    names = [name for name, _ in api.constants]
    for name, value in api.constants:
        lines.append(f"{name} = {value}")
    lines += ["", "# Structs, and functions that the library calls", ""]
    kept = {name: fields for name, fields in api.structs if fields is not None}
    opaque = [name for name, fields in api.structs if fields is None and name not in kept]
    for name in opaque:
        lines += ["", f"class {name}(Structure):", "    pass", ""]
    bodies = []  # in the order of the headers, but a type of function after the structs that it names
    done = set(opaque)
    types, structs = list(api.types), [(n, f) for n, f in api.structs if f is not None]
    needs = lambda expression: set(re.findall(r"\btsr_\w+", expression)) - done
    while types or structs:
        before = len(types) + len(structs)
        for item in list(types):
            expression = api.callback(item[1])
            if not needs(expression):
                bodies += ["", f"{item[0]} = {expression}"]
                done.add(item[0])
                types.remove(item)
        for item in list(structs):
            expressions = [api.field_type(item[1], i) for i in range(len(item[1]))]
            if needs(" ".join(expressions)):
                break
            bodies += ["", "", f"class {item[0]}(Structure):", "    _fields_ = ["]
            bodies += [f'        ("{field[0]}", {expression}),' for field, expression in zip(item[1], expressions)] + ["    ]", ""]
            done.add(item[0])
            structs.remove(item)
        if len(types) + len(structs) == before:
            raise Failure(f"{(types + structs)[0][0]} needs a type that is declared nowhere")
    lines += bodies
    lines += ["", "# name: (what it returns, its parameters)", "FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {"]
    for name, (result, parameters) in api.functions:
        sized = any(kind.base == "size_t" and kind.pointers == 1 for kind, _ in parameters if isinstance(kind, Type))
        lines.append(f'    "{name}": ({api.ctype(result, sized=sized)}, [{", ".join(api.ctype(kind) for kind, _ in parameters)}]),')
    lines += ["}", "", "", "def declare(library: CDLL) -> None:",
              '    """Tells ctypes the parameters of every function. AttributeError: the library lacks one."""',
              "    for name, (result, parameters) in FUNCTIONS.items():", "        function = getattr(library, name)",
              "        function.restype, function.argtypes = result, parameters", "", "",
              "def _name(names: Dict[int, str], value: int) -> str:", '    return names.get(value, str(value))', "", "",
              "def _text(value: Optional[bytes]) -> str:", '    return (value or b"").decode("utf-8", "replace")', ""]
    for enum in sorted({ENUMS.get((name, f[0]), f[3]) for name in RECORDS for f in kept[name]} & set(api.enums)):
        named = ", ".join(f'{c}: "{w}"' for c, w in zip(api.enums[enum], words(api.enums[enum])))
        lines += ["", f"NAMES_OF_{enum.upper()} = {{{named}}}"]
    for name in RECORDS:
        if name not in kept:
            raise Failure(f"RECORDS: there is no struct {name}")
        lines += ["", *record(api, name, kept[name]), ""]
    assert len(set(names)) == len(names)
    return "\n".join(lines).rstrip() + "\n"


def main():
    try:
        made = text()
    except Failure as failure:
        sys.exit(f"declare.py: {failure}")
    if sys.argv[1:] == ["--check"]:
        if not OUT.exists() or OUT.read_text(encoding="utf-8") != made:
            sys.exit("declare.py: python/tessera_cl/_declarations.py is not what the headers give; run python/declare.py")
    elif not sys.argv[1:]:
        OUT.write_text(made, encoding="utf-8")
    else:
        sys.exit("usage: python/declare.py [--check]")


if __name__ == "__main__":
    main()
