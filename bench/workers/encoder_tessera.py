"""Tessera by its library: encoder_tessera.py LIBRARY DEVICE MODEL [dtype=f32|f16|bf16|q8|q4] [compute=f32|f16|bf16|int8]"""

import ctypes as c
import os
import sys

from encoders import serve
from tessera_library import Library


class EmbedOptions(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("reserved", c.c_uint32), ("max_tokens", c.c_int64), ("prompt", c.c_char_p), ("progress", c.c_void_p),
                ("progress_data", c.c_void_p)]


class String(c.Structure):
    _fields_ = [("data", c.c_char_p), ("size", c.c_size_t)]


class Tessera(Library):
    def __init__(self, library, device, model, dtype=None, compute=None):
        super().__init__(library, device)
        self.open(model, dtype, compute=compute)
        self.embedder, options = c.c_void_p(), EmbedOptions(struct_size=c.sizeof(EmbedOptions))
        self.ok(self.lib.tsr_embedder_create(self.model, c.byref(options), c.byref(self.embedder)))
        self.width = self.info().width

    def embed(self, texts):
        given = (String * len(texts))(*(String(text.encode(), len(text.encode())) for text in texts))
        out = (c.c_float * (self.width * len(texts)))()
        self.ok(self.lib.tsr_embed(self.embedder, given, c.c_size_t(len(texts)), out, None))
        return [out[i * self.width:(i + 1) * self.width] for i in range(min(len(texts), 1))] if len(texts) == 1 else out


serve(lambda arguments: Tessera(*arguments[:3], **dict(word.split("=", 1) for word in arguments[3:])))
