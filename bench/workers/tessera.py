"""Tessera by its library: tessera.py LIBRARY DEVICE MODEL [dtype=f32|f16|bf16|q8|q4] [kv=f32|f16] [context=1024]"""

import ctypes as c

from protocol import serve
from tessera_library import Library


class Tessera(Library):
    def __init__(self, library, device, model, dtype=None, kv="f32", context="1024"):
        super().__init__(library, device)
        self.open(model, dtype, kv, int(context))
        self.session = c.c_void_p()
        self.ok(self.lib.tsr_bench_session_create(self.model, 1, c.c_int64(int(context)), c.byref(self.session)))
        self.vocabulary = self.info().vocab

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


serve(lambda arguments: Tessera(*arguments[:3], **dict(word.split("=", 1) for word in arguments[3:])))
