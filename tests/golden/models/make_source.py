#!/usr/bin/env python3
"""Makes the tiny golden encoders and encoder-decoders of this folder, as make.py does decoders.

    python3 make_source.py [NAME...]       (needs torch, transformers, safetensors, numpy, gguf)

An encoder's folder has one for each head (base, mlm, cls, ...), all with the same inner weights; <case>.hidden.I and .attn.I come from
the first, <case>.<head>.logits, .pooled or .next from each. An encoder-decoder's has <case>.enc.hidden.I, .dec.hidden.I, .enc.attn.I,
.dec.attn.I, .cross.attn.I and .logits, and greedy continuations from the decoder's start token.
"""
import json
import sys

import beams
import numpy as np
import torch
import transformers as tr
from safetensors.numpy import save_file

from make import GAP, HERE, STEPS, Exact64, list_generated, randomize, write_gguf

BERT = dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40, max_position_embeddings=48)
BART = dict(vocab_size=61, d_model=24, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=3,
            encoder_ffn_dim=40, decoder_ffn_dim=36, max_position_embeddings=40, pad_token_id=1, bos_token_id=0, eos_token_id=2,
            decoder_start_token_id=2, forced_eos_token_id=None)
LABELS = dict(id2label={0: "O", 1: "B-PER", 2: "I-PER", 3: "B-LOC", 4: "I-LOC"}, label2id={"O": 0, "B-PER": 1, "I-PER": 2, "B-LOC": 3, "I-LOC": 4})
ENCODERS = {
    "bert-tiny": (tr.BertConfig(**BERT), {"pre": tr.BertForPreTraining, "tokens": tr.BertForTokenClassification}),
    "mpnet": (tr.MPNetConfig(**dict(BERT, max_position_embeddings=180), pad_token_id=1, bos_token_id=0, eos_token_id=2),
              {"mlm": tr.MPNetForMaskedLM, "cls": tr.MPNetForSequenceClassification}),
    "electra": (tr.ElectraConfig(**BERT, embedding_size=16), {"mlm": tr.ElectraForMaskedLM, "cls": tr.ElectraForSequenceClassification}),
    "xlm-roberta": (tr.XLMRobertaConfig(**BERT, pad_token_id=1, bos_token_id=0, eos_token_id=2, type_vocab_size=1),
                    {"tokens": tr.XLMRobertaForTokenClassification, "cls": tr.XLMRobertaForSequenceClassification}),
    "albert-groups": (tr.AlbertConfig(**dict(BERT, num_hidden_layers=4), embedding_size=12, num_hidden_groups=2), {"mlm": tr.AlbertForMaskedLM}),
}
MORE_ENCODERS = {
    "bert": (tr.BertConfig(**dict(BERT, hidden_size=16)), {"base": tr.BertModel, "mlm": tr.BertForMaskedLM, "cls": tr.BertForSequenceClassification}),
    "roberta": (tr.RobertaConfig(**dict(BERT, hidden_size=18, num_attention_heads=3), pad_token_id=1, bos_token_id=0, eos_token_id=2, type_vocab_size=1),
                {"mlm": tr.RobertaForMaskedLM, "cls": tr.RobertaForSequenceClassification}),
    "distilbert": (tr.DistilBertConfig(vocab_size=61, dim=16, n_layers=2, n_heads=4, hidden_dim=24, max_position_embeddings=48),
                   {"mlm": tr.DistilBertForMaskedLM, "cls": tr.DistilBertForSequenceClassification}),
    "albert": (tr.AlbertConfig(**dict(BERT, hidden_size=16, num_hidden_layers=3), embedding_size=12, num_hidden_groups=1),
               {"base": tr.AlbertModel, "mlm": tr.AlbertForMaskedLM, "cls": tr.AlbertForSequenceClassification}),
}
SMALL = dict(vocab_size=43, d_model=16, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
             encoder_ffn_dim=20, decoder_ffn_dim=24, max_position_embeddings=40, forced_eos_token_id=None)
T5 = dict(vocab_size=43, d_model=16, d_kv=6, d_ff=24, num_layers=2, num_heads=4, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0)
SEARCHED = {
    "bart": lambda: tr.BartForConditionalGeneration(tr.BartConfig(**SMALL, activation_function="gelu", pad_token_id=1, bos_token_id=0, eos_token_id=2,
                                                                  decoder_start_token_id=2)),
    "marian": lambda: tr.MarianMTModel(tr.MarianConfig(**SMALL, activation_function="swish", scale_embedding=True, pad_token_id=0,
                                                       decoder_start_token_id=0, eos_token_id=3)),
    "t5": lambda: tr.T5ForConditionalGeneration(tr.T5Config(**T5, num_decoder_layers=2, relative_attention_num_buckets=8,
                                                            relative_attention_max_distance=20, feed_forward_proj="relu", tie_word_embeddings=True)),
    "t5-v1.1": lambda: tr.T5ForConditionalGeneration(tr.T5Config(**T5, num_decoder_layers=3, feed_forward_proj="gated-gelu", tie_word_embeddings=False)),
}
LATER = {
    # transformers counts positions from 2 whatever pad_token_id says
    "mpnet-pad": (tr.MPNetConfig(**dict(BERT, num_hidden_layers=1, max_position_embeddings=156), pad_token_id=5, bos_token_id=0, eos_token_id=2),
                  {"mlm": tr.MPNetForMaskedLM}),
    "camembert": (tr.CamembertConfig(**BERT, pad_token_id=1, bos_token_id=5, eos_token_id=6, type_vocab_size=1),
                  {"mlm": tr.CamembertForMaskedLM, "cls": tr.CamembertForSequenceClassification}),
    "modernbert": (tr.ModernBertConfig(**dict(BERT, num_hidden_layers=4), local_attention=6, classifier_pooling="mean", pad_token_id=1, bos_token_id=0,
                                       eos_token_id=2, cls_token_id=0, sep_token_id=2),
                   {"mlm": tr.ModernBertForMaskedLM, "cls": tr.ModernBertForSequenceClassification, "tokens": tr.ModernBertForTokenClassification}),
}
LATER |= {"nomic_bert": (tr.NomicBertConfig(**BERT), {"mlm": tr.NomicBertForMaskedLM, "cls": tr.NomicBertForSequenceClassification})}
# Decoders as encoders: one because its config says so, one because it lies in a sentence-transformers folder.
QWEN = dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=8, intermediate_size=40,
            max_position_embeddings=48)
LATER |= {
    "gemma3-vectors": (tr.Gemma3TextConfig(**dict(QWEN, num_hidden_layers=3), query_pre_attn_scalar=9, sliding_window=6, use_bidirectional_attention=True,
                                           layer_types=["sliding_attention", "full_attention", "sliding_attention"]), {"vectors": tr.Gemma3TextModel}),
    "qwen3-vectors": (tr.Qwen3Config(**QWEN), {"vectors": tr.Qwen3Model}),
}
# As DeBERTa v3: distances in buckets, one table for all, no positions in the embedding. The "lm" head is that of v3's own files.
DEBERTA = dict(relative_attention=True, share_att_key=True, pos_att_type=["p2c", "c2p"])
LATER |= {
    "deberta_v2": (tr.DebertaV2Config(**BERT, **DEBERTA, position_buckets=8, norm_rel_ebd="layer_norm", position_biased_input=False, legacy=False),
                   {"mlm": tr.DebertaV2ForMaskedLM, "cls": tr.DebertaV2ForSequenceClassification, "tokens": tr.DebertaV2ForTokenClassification}),
}
LATER |= {
    "gemma-embedding": (tr.Gemma3TextConfig(**dict(QWEN, num_hidden_layers=7), query_pre_attn_scalar=8, sliding_window=6,
                                            use_bidirectional_attention=True), {"vectors": tr.Gemma3TextModel}),
    "eurobert": (tr.EuroBertConfig(**QWEN, rope_parameters=dict(rope_theta=300.0, rope_type="default"), pad_token_id=3, bos_token_id=1, eos_token_id=2),
                 {"vectors": tr.EuroBertModel}),
    "jina_embeddings_v3": (tr.JinaEmbeddingsV3Config(**BERT, type_vocab_size=1), {"mlm": tr.JinaEmbeddingsV3ForMaskedLM}),
}
# Keys that config.json had when the family was new, and that many models' files have.
OLD = {"modernbert": (dict(global_attn_every_n_layers=3, global_rope_theta=160000.0, local_rope_theta=10000.0), ("layer_types", "rope_parameters"))}
TRANSLATORS = {
    "mbart": lambda: tr.MBartForConditionalGeneration(tr.MBartConfig(**BART, scale_embedding=True)),
    "m2m_100": lambda: tr.M2M100ForConditionalGeneration(tr.M2M100Config(**BART, scale_embedding=True)),
    "pegasus": lambda: tr.PegasusForConditionalGeneration(tr.PegasusConfig(**dict(BART, pad_token_id=0, decoder_start_token_id=0, eos_token_id=1))),
    "marian-apart": lambda: tr.MarianMTModel(tr.MarianConfig(**dict(BART, pad_token_id=0, decoder_start_token_id=0), decoder_vocab_size=53,
                                                             share_encoder_decoder_embeddings=False, tie_word_embeddings=False)),
    "t5-tiny": lambda: tr.T5ForConditionalGeneration(tr.T5Config(
        vocab_size=61, d_model=24, d_kv=8, d_ff=40, num_layers=2, num_decoder_layers=1, num_heads=3, relative_attention_num_buckets=8,
        relative_attention_max_distance=12, feed_forward_proj="gated-gelu", pad_token_id=0, eos_token_id=1, decoder_start_token_id=0)),
}
MT5 = dict(vocab_size=43, d_model=16, d_kv=6, d_ff=20, num_layers=3, num_decoder_layers=2, num_heads=4, relative_attention_num_buckets=8,
           relative_attention_max_distance=20, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0)
MULTILINGUAL = {
    "mt5": lambda: tr.MT5ForConditionalGeneration(tr.MT5Config(**MT5)),
    "umt5": lambda: tr.UMT5ForConditionalGeneration(tr.UMT5Config(**MT5, tie_word_embeddings=False)),
}
# Encoders alone, of which the last lies in a sentence-transformers folder.
ALONE = {
    "t5-encoder": (tr.T5Config(**dict(MT5, num_layers=2)), {"vectors": tr.T5EncoderModel}),
    "umt5-encoder": (tr.UMT5Config(**MT5), {"vectors": tr.UMT5EncoderModel}),
}
# Span extraction, and decoders that label texts.
TINY = dict(vocab_size=43, hidden_size=12, num_hidden_layers=1, num_attention_heads=2, intermediate_size=14, max_position_embeddings=32)
FIVE = dict(pad_token_id=1, bos_token_id=0, eos_token_id=2)
SPANS = {
    "bert-qa": (tr.BertConfig(**TINY), {"qa": tr.BertForQuestionAnswering}),
    "roberta-qa": (tr.RobertaConfig(**TINY, **FIVE, type_vocab_size=1), {"qa": tr.RobertaForQuestionAnswering}),
    "distilbert-qa": (tr.DistilBertConfig(vocab_size=43, dim=12, n_layers=1, n_heads=2, hidden_dim=14, max_position_embeddings=32),
                      {"qa": tr.DistilBertForQuestionAnswering}),
    "electra-qa": (tr.ElectraConfig(**TINY, embedding_size=8), {"qa": tr.ElectraForQuestionAnswering}),
    "albert-qa": (tr.AlbertConfig(**TINY, embedding_size=8), {"qa": tr.AlbertForQuestionAnswering}),
    "xlm-roberta-qa": (tr.XLMRobertaConfig(**TINY, **FIVE, type_vocab_size=1), {"qa": tr.XLMRobertaForQuestionAnswering}),
    "camembert-qa": (tr.CamembertConfig(**TINY, **FIVE, type_vocab_size=1), {"qa": tr.CamembertForQuestionAnswering}),
    "deberta_v2-qa": (tr.DebertaV2Config(**TINY, relative_attention=True, share_att_key=True, pos_att_type=["p2c", "c2p"], position_buckets=8,
                                         norm_rel_ebd="layer_norm", position_biased_input=False, legacy=False), {"qa": tr.DebertaV2ForQuestionAnswering}),
    "mpnet-qa": (tr.MPNetConfig(**dict(TINY, max_position_embeddings=170), **FIVE), {"qa": tr.MPNetForQuestionAnswering}),
    "modernbert-qa": (tr.ModernBertConfig(**TINY, **FIVE, local_attention=6, cls_token_id=0, sep_token_id=2), {"qa": tr.ModernBertForQuestionAnswering}),
    "jina_embeddings_v3-qa": (tr.JinaEmbeddingsV3Config(**TINY, type_vocab_size=1), {"qa": tr.JinaEmbeddingsV3ForQuestionAnswering}),
}
GROUPED = dict(TINY, num_hidden_layers=2, num_key_value_heads=1, pad_token_id=0)
RANKS = {
    "qwen3-labels": (tr.Qwen3Config(**GROUPED, head_dim=8), {"cls": tr.Qwen3ForSequenceClassification}),
    "qwen2-labels": (tr.Qwen2Config(**GROUPED), {"cls": tr.Qwen2ForSequenceClassification}),
    "llama-labels": (tr.LlamaConfig(**GROUPED), {"cls": tr.LlamaForSequenceClassification}),
    "mistral-labels": (tr.MistralConfig(**GROUPED, sliding_window=5), {"cls": tr.MistralForSequenceClassification}),
    "gemma-labels": (tr.GemmaConfig(**GROUPED, head_dim=8), {"cls": tr.GemmaForSequenceClassification}),
    "gemma2-labels": (tr.Gemma2Config(**GROUPED, head_dim=8, sliding_window=5, query_pre_attn_scalar=8), {"cls": tr.Gemma2ForSequenceClassification}),
}
ADDED = ALONE | SPANS | RANKS


def exact_of(model):
    config = type(model.config).from_dict(model.config.to_dict())
    config._attn_implementation = config._experts_implementation = "eager"
    config.dtype = torch.float64    # of parts that are made from it alone
    with Exact64():
        exact = type(model)(config).double().eval()
    exact.load_state_dict({k: v.double() if v.is_floating_point() else v for k, v in model.state_dict().items()})
    exact.tie_weights()
    return exact


def save(out, expected, listing):
    assert all(v.dtype == torch.float64 for v in expected.values())
    save_file({k: np.ascontiguousarray(v.numpy().astype(np.float32)) for k, v in expected.items()}, str(out / "expected.safetensors"))
    (out / "cases.json").write_text(json.dumps(listing) + "\n")
    for f in out.rglob("*"):
        f.chmod(0o755 if f.is_dir() else 0o644)
    print(out.name, sum(f.stat().st_size for f in out.rglob("*") if f.is_file()) // 1024, "KB")


def batches(g, vocab, longest):
    ids = lambda *shape: torch.randint(4, vocab, shape, generator=g)
    mask = torch.tensor([[1] * 6, [1] * 3 + [0] * 3, [1] + [0] * 5])
    yield "short", ids(2, 7), torch.ones(2, 7, dtype=torch.long)
    yield "long", ids(1, longest), torch.ones(1, longest, dtype=torch.long)
    yield "pad_right", ids(3, 6) * mask, mask


def sentence(folder, width):
    kinds = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    (folder / "modules.json").write_text(json.dumps([{"idx": i, "name": str(i), "path": path, "type": "sentence_transformers.models." + kind}
                                                     for i, (path, kind) in enumerate(kinds.items())]) + "\n")
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "1_Pooling/config.json").write_text(json.dumps({"word_embedding_dimension": width, "pooling_mode_lasttoken": True,
                                                              "pooling_mode_mean_tokens": False}) + "\n")


def first_nomic(folder, config, inner):
    """The same inner weights as the family's first files have them."""
    names = {"embeddings.LayerNorm": "emb_ln", "layers.": "encoder.layers.", "self_attn.o_proj": "attn.out_proj", "mlp.up_proj": "mlp.fc11",
             "mlp.gate_proj": "mlp.fc12", "mlp.down_proj": "mlp.fc2", "post_attention_layernorm": "norm1", "post_mlp_layernorm": "norm2"}
    arrays = {}
    for key in inner:
        if "pooler" in key or "k_proj" in key or "v_proj" in key:
            continue
        new, value = key, inner[key]
        if "q_proj" in key:
            value = torch.cat([inner[key.replace("q_proj", f"{part}_proj")] for part in "qkv"])
            new = key.replace("self_attn.q_proj", "attn.Wqkv")
        for now, old in names.items():
            new = new.replace(now, old)
        arrays[new] = value.numpy().copy()
    folder.mkdir(exist_ok=True)
    save_file(arrays, str(folder / "model.safetensors"), metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(dict(
        model_type="nomic_bert", architectures=["NomicBertModel"], activation_function="swiglu", causal=False, layer_norm_epsilon=1e-12,
        max_trained_positions=2048, mlp_fc1_bias=False, mlp_fc2_bias=False, n_embd=config.hidden_size, n_head=config.num_attention_heads,
        n_inner=config.intermediate_size, n_layer=config.num_hidden_layers, n_positions=config.max_position_embeddings, parallel_block=False,
        prenorm=False, qkv_proj_bias=False, rotary_emb_base=1000, rotary_emb_fraction=1.0, rotary_emb_interleaved=False, rotary_emb_scale_base=None,
        rotary_scaling_factor=None, scale_attn_weights=True, type_vocab_size=2, use_rms_norm=False, vocab_size=config.vocab_size), indent=2) + "\n")
    return arrays


def first_jina(inner):
    """The arrays as the family's first files have them, which are those that llama.cpp's converter reads."""
    names = {"embeddings.LayerNorm": "emb_ln", "layers.": "encoder.layers.", "self_attn.o_proj": "mixer.out_proj", "self_attn.q_proj": "mixer.Wqkv",
             "post_attention_layernorm": "norm1", "post_mlp_layernorm": "norm2"}
    arrays = {}
    for key, value in inner.items():
        if "pooler" in key or "k_proj" in key or "v_proj" in key:
            continue
        if "q_proj" in key:
            value = torch.cat([inner[key.replace("q_proj", f"{part}_proj")] for part in "qkv"])
        for now, old in names.items():
            key = key.replace(now, old)
        arrays[key] = value.numpy().copy()
    return arrays


def write_encoder_gguf(path, arch, config, arrays):
    """By llama.cpp's own package: its names of the arrays."""
    import gguf
    kinds = {name: kind for kind, name in gguf.MODEL_ARCH_NAMES.items()}
    names = gguf.get_tensor_name_map(kinds[arch], config.num_hidden_layers)
    writer = gguf.GGUFWriter(path, arch)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_head_count(config.num_attention_heads)
    if arch == "eurobert":
        writer.add_head_count_kv(config.num_key_value_heads)
        writer.add_key_length(config.head_dim)
        writer.add_value_length(config.head_dim)
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    else:
        writer.add_layer_norm_eps(config.layer_norm_eps)
        writer.add_token_type_count(config.type_vocab_size)
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    if arch not in ("bert", "jina-bert-v2"):
        writer.add_rope_freq_base(1000.0 if arch == "nomic-bert" else config.rope_parameters["rope_theta"])
    for name, value in arrays.items():
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight", ".bias")), value.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def encoder(name, seed):
    config, heads = (ENCODERS | MORE_ENCODERS | LATER | ADDED)[name]
    out, expected, listing, inner = HERE / name, {}, {"cases": []}, None
    for head, kind in heads.items():
        c = type(config).from_dict({**config.to_dict(), **(LABELS if head == "tokens" else {} if head == "qa" else dict(num_labels=3))})
        c._attn_implementation = "eager"
        model = kind(c).eval()
        randomize(model, seed)
        base = getattr(model, model.base_model_prefix, model)
        if inner:
            base.load_state_dict({k: v for k, v in inner.items() if k in base.state_dict()}, strict=False)
            model.tie_weights()
        inner = inner or base.state_dict()
        model.save_pretrained(out / head)
        if name in OLD:
            added, removed = OLD[name]
            config_json = json.loads((out / head / "config.json").read_text()) | added
            (out / head / "config.json").write_text(json.dumps({k: v for k, v in config_json.items() if k not in removed}, indent=2, sort_keys=True) + "\n")
        if head == "vectors" and name in ("qwen3-vectors", "umt5-encoder"):
            sentence(out / head, config.hidden_size)
        exact = exact_of(model)
        g = torch.Generator().manual_seed(seed)
        for case, ids, mask in batches(g, config.vocab_size, 150 if name.startswith("mpnet") else 19):
            if name in RANKS:       # padding is what follows the last token
                ids = ids * mask
            inputs = dict(input_ids=ids, attention_mask=mask)
            if getattr(config, "type_vocab_size", 1) > 1 and not name.startswith("mpnet"):
                inputs["token_type_ids"] = torch.randint(0, 2, ids.shape, generator=g)
            with torch.no_grad(), Exact64():
                r = exact(**inputs, output_hidden_states=True, output_attentions=True)
            seen = mask[..., None].double()
            if head == "base":
                expected[f"{case}.base.pooled"] = r.pooler_output
            elif head == "pre":
                expected[f"{case}.mlm.logits"], expected[f"{case}.next"] = r.prediction_logits * seen, r.seq_relationship_logits
            elif head == "qa":
                expected[f"{case}.qa.logits"] = torch.stack([r.start_logits, r.end_logits], -1) * seen
            elif head != "vectors":
                expected[f"{case}.{head}.logits"] = r.logits * seen if head in ("mlm", "tokens") else r.logits
            if head != next(iter(heads)):
                continue
            for i, h in enumerate(r.hidden_states):
                expected[f"{case}.hidden.{i}"] = h * seen
            for i, a in enumerate(r.attentions if case != "long" else []):
                expected[f"{case}.attn.{i}"] = a * mask[:, None, :, None]
            listing["cases"].append({"name": case, **{k: v.tolist() for k, v in inputs.items()}})
    if name == "nomic_bert":
        write_encoder_gguf(out / "model.gguf", "nomic-bert", config, first_nomic(out / "old", config, inner))
    if name == "bert":
        write_encoder_gguf(out / "model.gguf", "bert", config, {k: v.numpy().copy() for k, v in inner.items() if "pooler" not in k})
    if name == "gemma-embedding":    # with the dense layers that follow its pooling
        rows = [torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).numpy() for shape in ((10, 24), (6, 10))]
        write_gguf(out / "model.gguf", "gemma-embedding", model, more={"dense_2.weight": rows[0], "dense_3.weight": rows[1]})
    if name == "eurobert":
        write_encoder_gguf(out / "model.gguf", "eurobert", config, {"model." + k: v.numpy().copy() for k, v in inner.items()})
    if name == "jina_embeddings_v3":
        write_encoder_gguf(out / "model.gguf", "jina-bert-v3", config, first_jina(inner))
    if name == "t5-encoder":    # the same encoder with a decoder, in a sentence-transformers folder
        whole = tr.T5ForConditionalGeneration(tr.T5Config(**dict(MT5, num_layers=2)))
        randomize(whole, seed)
        whole.load_state_dict(inner, strict=False)
        whole.save_pretrained(out / "whole")
        (out / "whole/generation_config.json").unlink(missing_ok=True)
        sentence(out / "whole", config.d_model)
    if name == "electra":   # the same inner weights under the head that tells replaced tokens
        disc = tr.ElectraForPreTraining(type(config).from_dict(config.to_dict()))
        randomize(disc, seed)
        disc.electra.load_state_dict(inner)
        disc.save_pretrained(out / "disc")
    save(out, expected, listing)


def greedy(model, prompt):
    seq, logits, gaps = torch.tensor([[model.config.decoder_start_token_id]]), [], []
    for _ in range(STEPS):
        with torch.no_grad(), Exact64():
            last = model(input_ids=prompt, decoder_input_ids=seq, use_cache=False).logits[0, -1]
        top = last.topk(2)
        gaps.append((top.values[0] - top.values[1]).item())
        logits.append(last)
        seq = torch.cat([seq, top.indices[None, :1]], 1)
    return seq[0, 1:].tolist(), min(gaps), torch.stack(logits)


def translator(name, seed):
    model = (TRANSLATORS | SEARCHED | MULTILINGUAL)[name]().eval()
    model.config._attn_implementation = model.config._experts_implementation = "eager"
    vocab, target = model.config.vocab_size, getattr(model.config, "decoder_vocab_size", None) or model.config.vocab_size
    for attempt in range(80):
        randomize(model, seed + 1000 * attempt)
        for module in model.modules():                     # sinusoids are no weights
            if hasattr(module, "create_weight"):
                module.weight.data.copy_(module.create_weight())
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.copy_(torch.randn(model.final_logits_bias.shape, generator=torch.Generator().manual_seed(seed)) * 0.3)
        exact = exact_of(model)
        g = torch.Generator().manual_seed(seed)
        prompts = [torch.randint(4, vocab, (1, n), generator=g) for n in (2, 6)]
        runs = [greedy(exact, p) for p in prompts]
        clear = min(r[1] for r in runs) > GAP
        search = beams.searched(exact, Exact64, prompts, runs, model.config.decoder_start_token_id) if clear and name in SEARCHED else None
        if clear and (search or name not in SEARCHED):
            break
    else:
        raise SystemExit(f"{name}: no seed gives clear greedy steps")
    out, expected, listing = HERE / name, {}, {"cases": [], "generate": []}
    if search:
        model.config.eos_token_id = model.generation_config.eos_token_id = search[0]
    model.save_pretrained(out)
    (out / "generation_config.json").unlink(missing_ok=True)
    for case, ids, mask in batches(g, vocab, 30):
        start = torch.full((len(ids), 1), model.config.decoder_start_token_id)
        after = torch.cat([start, torch.randint(4, target, (len(ids), 4), generator=g)], 1)
        with torch.no_grad(), Exact64():
            r = exact(input_ids=ids, attention_mask=mask, decoder_input_ids=after, use_cache=False, output_hidden_states=True,
                      output_attentions=True)
        expected[f"{case}.logits"] = r.logits
        seen = mask[..., None].double()
        for i, h in enumerate(r.encoder_hidden_states):
            expected[f"{case}.enc.hidden.{i}"] = h * seen
        for i, h in enumerate(r.decoder_hidden_states):
            expected[f"{case}.dec.hidden.{i}"] = h
        for i, a in enumerate(r.encoder_attentions if case != "long" else []):
            expected[f"{case}.enc.attn.{i}"] = a * mask[:, None, :, None]
        for i, (a, c) in enumerate(zip(r.decoder_attentions, r.cross_attentions) if case != "long" else []):
            expected[f"{case}.dec.attn.{i}"], expected[f"{case}.cross.attn.{i}"] = a, c
        listing["cases"].append({"name": case, "input_ids": ids.tolist(), "attention_mask": mask.tolist(), "decoder_input_ids": after.tolist()})
    list_generated(prompts, runs, search, expected, listing)
    save(out, expected, listing)


if __name__ == "__main__":
    for seed, name in enumerate([*ENCODERS, *TRANSLATORS, *MORE_ENCODERS, *SEARCHED, *LATER, *MULTILINGUAL, *ADDED]):
        if len(sys.argv) == 1 or name in sys.argv[1:]:
            (encoder if name in ENCODERS | MORE_ENCODERS | LATER | ADDED else translator)(name, 300 + seed)
