"""Tessera by its library: tessera.py LIBRARY DEVICE MODEL [dtype=f32] [compute=..] [kv_dtype=..] [context=1024]"""

import ctypes as c
import os
import sys

from protocol import serve

DTYPES = {"f32": 1, "f16": 2, "bf16": 3}


class ModelOptions(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("dtype", c.c_uint32), ("context", c.c_int64), ("progress", c.c_void_p), ("progress_data", c.c_void_p),
                ("tokenizer_only", c.c_uint32), ("reserved", c.c_uint32)]


class Tessera:
    def __init__(self, library, device, model, dtype=None, context="1024", **_):
        self.lib = lib = c.CDLL(library)
        lib.tsr_error_last.restype = c.c_char_p
        self.engine, self.device, self.model, self.session = (c.c_void_p() for _ in range(4))
        options = ModelOptions(struct_size=c.sizeof(ModelOptions), dtype=DTYPES.get(dtype, 0), context=int(context))
        self.ok(lib.tsr_engine_create(None, c.byref(self.engine)))
        self.ok(lib.tsr_device_open(self.engine, device.encode() or None, None, c.byref(self.device)))
        self.ok(lib.tsr_model_open(model.encode(), self.device, c.byref(options), c.byref(self.model)))
        self.ok(lib.tsr_bench_session_create(self.model, 1, c.c_int64(int(context)), c.byref(self.session)))
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
        vocabulary = {"llama": 32000, "gpt2": 50257}
        import json, pathlib
        config = pathlib.Path(self.path) / "config.json"
        size = json.loads(config.read_text())["vocab_size"] if config.exists() else vocabulary["llama"]
        out = (c.c_float * size)()
        self.run(ids, 0, out)
        return out


def make(arguments):
    options = dict(word.split("=", 1) for word in arguments[3:])
    engine = Tessera(*arguments[:3], **options)
    engine.path = arguments[2]
    return engine


os.environ.setdefault("TESSERA_BACKEND_PATH", os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "tessera", "backends"))
serve(make)
