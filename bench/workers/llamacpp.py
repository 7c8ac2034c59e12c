"""llama.cpp by its C interface: llamacpp.py MODEL.gguf [flash=1|0|-1] [kv=f16|f32] [threads=0] [context=1024] [gpu=0|1]
[packed=1|0] [sequences=1]; flash -1: as it chooses; threads 0: one for each core; packed 0: without the layouts that it makes for the processor; context: of each sequence"""

import ctypes as c

import llama_cpp as lib
from protocol import cores, serve


PIECE = 512  # tokens in a call
ATTENTION = {-1: "as it chooses", 0: "off", 1: "on"}


class LlamaCpp:
    def __init__(self, model, flash="1", kv="f16", threads="0", context="1024", gpu="0", packed="1", sequences="1"):
        self.log = lib.llama_log_callback(lambda *_: None)
        lib.llama_log_set(self.log, c.c_void_p(0))
        lib.llama_backend_init()
        loading = lib.llama_model_default_params()
        loading.n_gpu_layers = 999 if int(gpu) else 0
        loading.use_extra_bufts = bool(int(packed))
        self.model = lib.llama_model_load_from_file(model.encode(), loading)
        if not self.model:
            raise RuntimeError(f"{model} could not be loaded")
        options = lib.llama_context_default_params()
        options.n_ctx, options.n_batch, options.n_ubatch = int(context) * int(sequences), PIECE, PIECE
        options.n_seq_max = int(sequences)
        options.n_threads = options.n_threads_batch = int(threads) or cores()
        options.flash_attn_type = int(flash)
        options.type_k = options.type_v = 0 if kv == "f32" else 1
        self.keys = "f32" if kv == "f32" else "f16"
        self.context = lib.llama_init_from_model(self.model, options)
        if not self.context:
            raise RuntimeError(f"there is no context of {context} tokens")
        self.batch = lib.llama_batch_init(PIECE, 0, 1)
        self.vocabulary = lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(self.model))
        self.name = f"llama.cpp {model.rsplit('-', 1)[-1].removesuffix('.gguf')}, flash attention {ATTENTION[options.flash_attn_type]}"

    def run(self, ids):
        given = (lib.llama_token * len(ids))(*ids)
        if lib.llama_decode(self.context, lib.llama_batch_get_one(given, len(ids))):
            raise RuntimeError("llama_decode failed")
        lib.llama_synchronize(self.context)
        return ids[-1]

    def read(self, ids):
        """In pieces of the largest batch."""
        for at in range(0, len(ids), PIECE):
            self.run(ids[at:at + PIECE])

    def decode(self, todo):
        """todo: (sequence, place, id, whether its logits are wanted). Gives each piece that was computed, until the next is."""
        for at in range(0, len(todo), PIECE):
            batch, piece = self.batch, todo[at:at + PIECE]
            batch.n_tokens = len(piece)
            for i, (s, place, token, wanted) in enumerate(piece):
                batch.token[i], batch.pos[i], batch.logits[i] = token, place, wanted
                batch.n_seq_id[i], batch.seq_id[i][0] = 1, s
            if lib.llama_decode(self.context, batch):
                raise RuntimeError("llama_decode failed")
            yield piece

    def read_batch(self, ids, past, sequences):
        """The same ids in each sequence, behind `past` tokens; the logits of the last are computed."""
        for _ in self.decode([(s, past + t, token, t + 1 == len(ids)) for s in range(sequences) for t, token in enumerate(ids)]):
            pass
        lib.llama_synchronize(self.context)

    def rewind(self, tokens):
        lib.llama_memory_seq_rm(lib.llama_get_memory(self.context), -1, tokens, -1)

    def close(self):
        lib.llama_batch_free(self.batch)
        lib.llama_free(self.context)
        lib.llama_model_free(self.model)

    def prefill(self, ids):
        lib.llama_memory_clear(lib.llama_get_memory(self.context), True)
        self.read(ids)
        return ids[-1]

    def step(self, token, _):
        return self.run([7 + token % 30000])  # its logits are computed, but not their argmax

    def logits(self, ids):
        self.prefill(ids)
        return lib.llama_get_logits_ith(self.context, -1)[:self.vocabulary]


if __name__ == "__main__":
    serve(lambda arguments: LlamaCpp(arguments[0], **dict(word.split("=", 1) for word in arguments[1:])))
