"""Tessera by its library: translate_tessera.py LIBRARY DEVICE MODEL base|tiny [dtype=f32|q8|..]"""

import ctypes as c

from tessera_library import Library
from translators import BASE, serve


class Options(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("ignore_eos", c.c_uint32), ("max_new_tokens", c.c_int64), ("context", c.c_int64), ("temperature", c.c_float),
                ("top_k", c.c_int32), ("top_p", c.c_float), ("min_p", c.c_float), ("repeat_penalty", c.c_float), ("logprobs", c.c_uint32),
                ("seed", c.c_uint64), ("stop", c.c_void_p), ("n_stop", c.c_uint32), ("return_logprob", c.c_uint32), ("num_beams", c.c_uint32),
                ("n_best", c.c_uint32), ("early_stopping", c.c_uint32), ("length_penalty", c.c_float), ("coverage_penalty", c.c_float),
                ("no_repeat_ngram", c.c_uint32), ("min_new_tokens", c.c_int64), ("suppress", c.c_void_p), ("n_suppress", c.c_uint32),
                ("reserved", c.c_uint32)]


class Prompt(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("n_ids", c.c_uint32), ("ids", c.POINTER(c.c_int32)), ("text", c.c_char_p), ("text_size", c.c_size_t),
                ("target_ids", c.c_void_p), ("n_target_ids", c.c_uint32), ("reserved", c.c_uint32)]


class Generated(c.Structure):
    """The struct's first fields, as many as are needed."""
    _fields_ = [("struct_size", c.c_uint32), ("prompt", c.c_uint32), ("id", c.c_int32), ("finish", c.c_uint32)]


END = 2  # the end token of the tiny model
CALLBACK = c.CFUNCTYPE(c.c_int, c.c_void_p, c.POINTER(Generated))


class Tessera(Library):
    def __init__(self, library, device, model, kind, dtype=None):
        super().__init__(library, device)
        self.kind = kind
        self.open(model, dtype)
        self.options = Options(struct_size=c.sizeof(Options))
        self.ok(self.lib.tsr_generate_defaults(self.model, c.byref(self.options)))
        self.options.temperature = 0
        self.options.length_penalty = 0 if kind == "tiny" else 1
        if kind == "base":
            self.options.ignore_eos = 1
            self.options.max_new_tokens = self.options.min_new_tokens = BASE["made"]

    def translate(self, given, beams):
        self.options.num_beams = beams
        arrays = [(c.c_int32 * len(ids))(*ids) for ids in given]
        prompts = [Prompt(struct_size=c.sizeof(Prompt), n_ids=len(ids), ids=c.cast(ids, c.POINTER(c.c_int32))) for ids in arrays]
        pointers = (c.POINTER(Prompt) * len(prompts))(*map(c.pointer, prompts))
        out = [[] for _ in given]

        def take(_, generated):
            if generated.contents.id >= 0:
                out[generated.contents.prompt].append(generated.contents.id)
            return 0
        self.ok(self.lib.tsr_generate(self.model, pointers, c.c_uint32(len(prompts)), c.byref(self.options), CALLBACK(take), None, None))
        return [ids[:-1] if ids and ids[-1] == END and self.kind == "tiny" else ids for ids in out]  # the peers count without the end token


serve(lambda arguments: Tessera(*arguments[:4], **dict(word.split("=", 1) for word in arguments[4:])))
