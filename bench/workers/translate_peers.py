"""Peers for translation: translate_peers.py ct2|torch FOLDER base|tiny [dtype=float32|int8] [threads=0] [inter=1]; and translate_peers.py make FOLDER

`make` writes FOLDER/base, a Marian model with random weights in the shape of the base Transformer (width 512, 6 + 6 layers, feed-forward 2048, 8 heads,
vocabulary 32000), and FOLDER/base-ct2, the same for CTranslate2; its token i is called t<i>. threads 0: one for each core; inter 0: as many batches at
a time as there are cores.
"""

import os
import pathlib
import sys
import warnings

warnings.filterwarnings("ignore")
os.environ.update(TRANSFORMERS_OFFLINE="1", HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", HF_HUB_DISABLE_PROGRESS_BARS="1")
from protocol import cores  # noqa: E402
from translators import BASE  # noqa: E402


def make(folder):
    import ctranslate2.converters.transformers as convert
    import torch
    import transformers
    folder = pathlib.Path(folder)
    V = BASE["vocabulary"]
    sizes = {f"{side}_{what}": n for side in ("encoder", "decoder") for what, n in (("layers", 6), ("attention_heads", 8), ("ffn_dim", 2048))}
    config = transformers.MarianConfig(vocab_size=V + 1, d_model=512, max_position_embeddings=512, pad_token_id=V, eos_token_id=BASE["end"],
                                       decoder_start_token_id=V, forced_eos_token_id=None, activation_function="relu", scale_embedding=True, **sizes)
    torch.manual_seed(0)
    transformers.MarianMTModel(config).save_pretrained(folder / "base")
    vocabulary = [f"t{i}" for i in range(V)]
    names = type("Numbered", (), {"unk_token": "t1", "eos_token": "t0", "bos_token": "t0", "pad_token": f"t{V}"})

    def set_config(self, given, model, tokenizer):
        given.eos_token, given.unk_token, given.decoder_start_token = "t0", "t1", "t0"  # the decoder starts from zeros

    def set_vocabulary(self, spec, tokens):
        spec.register_source_vocabulary(tokens)
        spec.register_target_vocabulary(tokens)

    convert.MarianMTLoader.get_vocabulary = lambda self, model, tokenizer: vocabulary
    convert.MarianMTLoader.set_config, convert.MarianMTLoader.set_vocabulary = set_config, set_vocabulary
    for tokenizer in ("MarianTokenizer", "AutoTokenizer"):
        getattr(transformers, tokenizer).from_pretrained = classmethod(lambda *_, **__: names())
    convert.TransformersConverter(str(folder / "base")).convert(str(folder / "base-ct2"), force=True)


class CTranslate2:
    def __init__(self, folder, kind, dtype, threads, inter):
        import ctranslate2
        self.kind, self.inter = kind, inter
        self.translator = ctranslate2.Translator(folder, intra_threads=threads, inter_threads=inter, compute_type=dtype)
        self.name = f"CTranslate2 {ctranslate2.__version__} {dtype}" + (f", inter_threads={inter}" if inter > 1 else ", one thread" if threads == 1 else "")
        if kind == "tiny":
            self.given, self.made = (self.words(folder, side) for side in ("source", "target"))
        else:
            self.given = self.made = [f"t{i}" for i in range(BASE["vocabulary"])]
        self.number = {word: i for i, word in enumerate(self.made)}
        self.bounds = {"min_decoding_length": BASE["made"], "max_decoding_length": BASE["made"]} if kind == "base" else {"length_penalty": 0}

    @staticmethod
    def words(folder, side):
        return (pathlib.Path(folder) / f"{side}_vocabulary.txt").read_text(encoding="utf-8").split("\n")

    def translate(self, given, beams):
        results = self.translator.translate_batch([[self.given[i] for i in ids] for ids in given], beam_size=beams, max_batch_size=-(-len(given) // self.inter), **self.bounds)
        return [[self.number[word] for word in result.hypotheses[0]] for result in results]


class Torch:
    def __init__(self, folder, kind, threads):
        import torch
        import transformers
        torch.set_num_threads(threads)
        self.kind, self.torch, self.model = kind, torch, transformers.MarianMTModel.from_pretrained(folder).eval()
        self.name = f"PyTorch {torch.__version__} f32"

    def translate(self, given, beams):
        ids = self.torch.tensor(given)
        with self.torch.inference_mode():
            made = self.model.generate(input_ids=ids, attention_mask=self.torch.ones_like(ids), num_beams=beams, do_sample=False,
                                       max_new_tokens=BASE["made"], min_new_tokens=BASE["made"])
        return made[:, 1:].tolist()


def engine(arguments):
    kind, folder, model = arguments[:3]
    options = dict(word.split("=", 1) for word in arguments[3:])
    threads = int(options.get("threads", "0")) or cores()
    return CTranslate2(folder, model, options.get("dtype", "float32"), threads, int(options.get("inter", "1")) or cores()) if kind == "ct2" else Torch(folder, model, threads)


if __name__ == "__main__":
    if sys.argv[1:2] == ["make"]:
        make(sys.argv[2])
    else:
        from translators import serve
        serve(engine)
