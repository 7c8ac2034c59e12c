"""What bench/serving.py compares the server with: serving.py tessera DEVICE MODEL [dtype=TYPE] [context=N] | llama.cpp MODEL.gguf [context=N] [sequences=N]
The first is the Python package of this tree.

    {"do": "generate", "prompts": [[..]..], "tokens": 64}   seconds for so many greedy tokens after each prompt, all prompts as one batch: {"seconds", "ids"}
    {"do": "embed", "texts": [..]}                          seconds for the texts' vectors
"""

import time

from protocol import answer


class Tessera:
    def __init__(self, device, model, dtype=None, context="0"):
        import tessera_cl
        self.package, self.device, self.path, self.dtype, self.context = tessera_cl, device or None, model, dtype, int(context)
        self.model = self.embedder = None
        self.name = f"Tessera's library {dtype or 'as stored'}"

    def generate(self, prompts, tokens):
        self.model = self.model or self.package.Model(self.path, device=self.device, dtype=self.dtype, context=self.context)
        return [[int(i) for i in one.ids] for one in self.model.generate(prompts, tokens, temperature=0, ignore_eos=True, speculate=-1)]

    def embed(self, texts):
        self.embedder = self.embedder or self.package.Embedder(self.path, device=self.device, dtype=self.dtype)
        return self.embedder.encode(texts)


def llama_cpp(model, **options):
    import llama_cpp as lib
    from llamacpp import LlamaCpp

    class Batches(LlamaCpp):
        """llama.cpp with as many sequences in each call as there are prompts, which is how its server decodes."""

        def next_ids(self, todo):
            """{sequence: next id} of those whose logits are wanted."""
            return {s: lib.llama_sampler_sample(self.greedy, self.context, i)
                    for piece in self.decode(todo) for i, (s, _, _, wanted) in enumerate(piece) if wanted}

        def generate(self, prompts, tokens):
            lib.llama_memory_clear(lib.llama_get_memory(self.context), True)
            last = self.next_ids([(s, t, token, t + 1 == len(ids)) for s, ids in enumerate(prompts) for t, token in enumerate(ids)])
            made = {s: [token] for s, token in last.items()}
            for step in range(tokens - 1):
                last = self.next_ids([(s, len(prompts[s]) + step, token, True) for s, token in last.items()])
                for s, token in last.items():
                    made[s].append(token)
            return [made[s] for s in range(len(prompts))]

    engine = Batches(model, **options)
    engine.greedy = lib.llama_sampler_init_greedy()
    return engine


def generate(engine, prompts, tokens):
    begun = time.perf_counter()
    ids = engine.generate(prompts, tokens)
    return {"seconds": time.perf_counter() - begun, "ids": ids}


def embed(engine, texts):
    begun = time.perf_counter()
    engine.embed(texts)
    return {"seconds": time.perf_counter() - begun}


def make(arguments):
    kind, *words = arguments
    given, options = [word for word in words if "=" not in word], dict(word.split("=", 1) for word in words if "=" in word)
    return (Tessera if kind == "tessera" else llama_cpp)(*given, **options)


if __name__ == "__main__":
    answer(make, lambda _: {}, {"generate": generate, "embed": embed})
