"""llama.cpp by its C interface: llamacpp.py MODEL.gguf [flash=1|0] [kv=f16|f32] [threads=2] [context=1024]"""

import ctypes as c

import llama_cpp as lib
from protocol import serve


class LlamaCpp:
    def __init__(self, model, flash="1", kv="f16", threads="2", context="1024"):
        self.log = lib.llama_log_callback(lambda *_: None)
        lib.llama_log_set(self.log, c.c_void_p(0))
        lib.llama_backend_init()
        self.model = lib.llama_model_load_from_file(model.encode(), lib.llama_model_default_params())
        options = lib.llama_context_default_params()
        options.n_ctx, options.n_batch, options.n_ubatch = int(context), 512, 512
        options.n_threads = options.n_threads_batch = int(threads)
        options.flash_attn_type = int(flash)
        options.type_k = options.type_v = 0 if kv == "f32" else 1
        self.context = lib.llama_init_from_model(self.model, options)
        self.vocabulary = lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(self.model))
        self.name = f"llama.cpp {model.rsplit('-', 1)[-1].removesuffix('.gguf')}, flash attention {'on' if options.flash_attn_type else 'off'}"

    def run(self, ids):
        given = (lib.llama_token * len(ids))(*ids)
        if lib.llama_decode(self.context, lib.llama_batch_get_one(given, len(ids))):
            raise RuntimeError("llama_decode failed")
        lib.llama_synchronize(self.context)
        return ids[-1]

    def prefill(self, ids):
        lib.llama_memory_clear(lib.llama_get_memory(self.context), True)
        return self.run(ids)

    def step(self, token, _):
        return self.run([7 + token % 30000])  # its logits are computed, but not their argmax

    def logits(self, ids):
        self.prefill(ids)
        return lib.llama_get_logits_ith(self.context, -1)[:self.vocabulary]


serve(lambda arguments: LlamaCpp(arguments[0], **dict(word.split("=", 1) for word in arguments[1:])))
