"""Tessera's library by its public headers: the parts that the workers need."""

import ctypes as c
import os

COMPUTES = {None: 0, "f32": 1, "f16": 2, "int8": 3, "bf16": 4}
DTYPES = {None: 0, "f32": 1, "f16": 2, "bf16": 3, "q4": 32, "q8": 36}


class ModelOptions(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("dtype", c.c_uint32), ("context", c.c_int64), ("progress", c.c_void_p), ("progress_data", c.c_void_p),
                ("tokenizer_only", c.c_uint32), ("kv_dtype", c.c_uint32), ("compute", c.c_uint32)]


class SessionOptions(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("sequences", c.c_uint32), ("context", c.c_int64), ("reserve", c.c_int64)]


class ModelInfo(c.Structure):
    """The struct's first fields, as many as are needed."""
    _fields_ = [("struct_size", c.c_uint32), ("has_tokenizer", c.c_uint32), ("texts", c.c_char_p * 5), ("layers", c.c_int64), ("width", c.c_int64),
                ("heads", c.c_int64), ("kv_heads", c.c_int64), ("head_size", c.c_int64), ("ffn", c.c_int64), ("vocab", c.c_int64), ("context", c.c_int64),
                ("sizes", c.c_uint64 * 3), ("flops", c.c_double * 2), ("bos", c.c_int32), ("pad", c.c_int32), ("n_eos", c.c_uint32), ("eos", c.c_void_p),
                ("kv_dtype", c.c_char_p)]


class Library:
    """An engine with a device, and with a model if one was opened."""

    def __init__(self, library, device):
        os.environ.setdefault("TESSERA_BACKEND_PATH", os.path.join(os.path.dirname(os.path.abspath(library)), "tessera", "backends"))
        self.lib = c.CDLL(library)
        self.lib.tsr_error_last.restype = c.c_char_p
        self.engine, self.device, self.model = (c.c_void_p() for _ in range(3))
        self.ok(self.lib.tsr_engine_create(None, c.byref(self.engine)))
        self.ok(self.lib.tsr_device_open(self.engine, device.encode() or None, None, c.byref(self.device)))

    def ok(self, status):
        if status:
            raise RuntimeError(self.lib.tsr_error_last().decode())

    def open(self, model, dtype=None, kv=None, context=0, compute=None):
        options = ModelOptions(struct_size=c.sizeof(ModelOptions), dtype=DTYPES[dtype], context=context, kv_dtype=DTYPES[kv], compute=COMPUTES[compute])
        self.ok(self.lib.tsr_model_open(model.encode(), self.device, c.byref(options), c.byref(self.model)))
        self.name = f"Tessera {dtype or 'as stored'}" + (f", products of {compute}" if compute else "")

    def info(self):
        info = ModelInfo(struct_size=c.sizeof(ModelInfo))
        self.ok(self.lib.tsr_model_info_get(self.model, c.byref(info)))
        return info
