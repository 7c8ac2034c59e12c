"""Tessera by its library: tessera.py LIBRARY DEVICE MODEL [dtype=f32|f16|bf16|q8|q4] [kv=f32|f16] [context=1024]"""

import ctypes as c
import os
import sys

from protocol import serve

DTYPES = {"f32": 1, "f16": 2, "bf16": 3, "q4": 32, "q8": 36}


class ModelOptions(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("dtype", c.c_uint32), ("context", c.c_int64), ("progress", c.c_void_p), ("progress_data", c.c_void_p),
                ("tokenizer_only", c.c_uint32), ("kv_dtype", c.c_uint32)]


class ModelInfo(c.Structure):
    """Its beginning, as far as it is needed."""
    _fields_ = [("struct_size", c.c_uint32), ("has_tokenizer", c.c_uint32), ("texts", c.c_char_p * 5), ("layers", c.c_int64), ("width", c.c_int64),
                ("heads", c.c_int64), ("kv_heads", c.c_int64), ("head_size", c.c_int64), ("ffn", c.c_int64), ("vocab", c.c_int64)]


class Tessera:
    def __init__(self, library, device, model, dtype=None, kv="f32", context="1024"):
        self.lib = lib = c.CDLL(library)
        lib.tsr_error_last.restype = c.c_char_p
        self.engine, self.device, self.model, self.session = (c.c_void_p() for _ in range(4))
        options = ModelOptions(struct_size=c.sizeof(ModelOptions), dtype=DTYPES.get(dtype, 0), context=int(context),
                               kv_dtype=DTYPES[kv])
        self.ok(lib.tsr_engine_create(None, c.byref(self.engine)))
        self.ok(lib.tsr_device_open(self.engine, device.encode() or None, None, c.byref(self.device)))
        self.ok(lib.tsr_model_open(model.encode(), self.device, c.byref(options), c.byref(self.model)))
        self.ok(lib.tsr_bench_session_create(self.model, 1, c.c_int64(int(context)), c.byref(self.session)))
        info = ModelInfo(struct_size=c.sizeof(ModelInfo))
        self.ok(lib.tsr_model_info_get(self.model, c.byref(info)))
        self.vocabulary = info.vocab
        self.name = f"Tessera {dtype or 'as stored'}"

    def ok(self, status):
        if status:
            raise RuntimeError(self.lib.tsr_error_last().decode())

    def run(self, ids, past, logits=None):
        given, following = (c.c_int32 * len(ids))(*ids), c.c_int32()
        self.ok(self.lib.tsr_bench_session_run(self.session, given, c.c_int64(len(ids)), c.c_int64(past), logits, c.byref(following), None))
        return following.value

    def prefill(self, ids):
        return self.run(ids, 0)

    def step(self, token, place):
        return self.run([token], place)

    def logits(self, ids):
        out = (c.c_float * self.vocabulary)()
        self.run(ids, 0, out)
        return out


os.environ.setdefault("TESSERA_BACKEND_PATH", os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "tessera", "backends"))
serve(lambda arguments: Tessera(*arguments[:3], **dict(word.split("=", 1) for word in arguments[3:])))
