"""Tessera by its library: tessera.py LIBRARY DEVICE MODEL [dtype=f32|f16|bf16|q8|q4] [kv=f32|f16] [context=1024]; without kv, keys and
values are kept as they are by default"""

import ctypes as c

from protocol import serve
from tessera_library import Library, SessionOptions


class Tessera(Library):
    def __init__(self, library, device, model, dtype=None, kv=None, context="1024"):
        super().__init__(library, device)
        self.open(model, dtype, kv, int(context))
        self.session = c.c_void_p()
        options = SessionOptions(c.sizeof(SessionOptions), 1, int(context), int(context))
        self.ok(self.lib.tsr_session_create(self.model, c.byref(options), c.byref(self.session)))
        info = self.info()
        self.vocabulary, self.keys = info.vocab, info.kv_dtype.decode()

    def run(self, ids, past, logits=None):
        given, following = (c.c_int32 * len(ids))(*ids), c.c_int32()
        self.ok(self.lib.tsr_session_rewind(self.session, 0, c.c_int64(past)))
        self.ok(self.lib.tsr_session_prefill(self.session, 0, given, c.c_size_t(len(ids)), logits, c.byref(following)))
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
