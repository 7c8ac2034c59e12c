"""What transformers' beam search finds in a golden model, and which token ends its texts.

The search is `generate(num_beams=4, num_return_sequences=4, early_stopping=False, max_new_tokens=24)`: a hypothesis has its ids, with the
end where it came, and its score: the sum of log probabilities over length ** penalty.
"""
import copy

import torch

BEAMS, STEPS, PENALTIES = 4, 24, (1.0, 0.6)


def nudged(model, seed):
    """Its weights moved by a relative 2e-6: what f32 may be off by, and more."""
    moved, g = copy.deepcopy(model), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in moved.parameters():
            p.mul_(1 + 2e-6 * torch.randn(p.shape, generator=g, dtype=torch.float64))
    return moved


def hypotheses(model, exact, prompt, end, penalty, start):
    config = model.config
    kw = dict(num_beams=BEAMS, num_return_sequences=BEAMS, do_sample=False, max_new_tokens=STEPS, length_penalty=penalty, early_stopping=False,
              eos_token_id=end, pad_token_id=config.pad_token_id, return_dict_in_generate=True, output_scores=True)
    if start is not None:
        kw["decoder_start_token_id"] = start
    if getattr(config, "num_layers", 0) != getattr(config, "num_decoder_layers", 0):
        kw["use_cache"] = False     # transformers sizes T5's cache by the encoder's number of layers
    with torch.no_grad(), exact():
        r = model.generate(input_ids=prompt, attention_mask=torch.ones_like(prompt), **kw)
    out = []
    for row, score in zip(r.sequences, r.sequences_scores):
        ids = row[1 if start is not None else prompt.shape[1]:].tolist()
        out.append({"ids": ids[:ids.index(end) + 1] if end in ids else ids, "score": score.item()})
    return out


def choose_end(model, exact, prompts, runs, start):
    """The likely token with which hypotheses end at the most different lengths."""
    likely = [t for _, _, logits in runs for t in logits.topk(4, -1).indices.flatten().tolist()]

    def variety(end):
        lengths = [{len(h["ids"]) for h in hypotheses(model, exact, p, end, 1.0, start)} for p in prompts[:2]]
        return sum(len(n) + (max(n) > 6) - 2 * (min(n) == 1) for n in lengths)
    order = sorted((t for t in set(likely) if t >= 4), key=lambda t: (-likely.count(t), t))[:5]
    return max(order, key=variety)


def searched(model, exact, prompts, runs, start=None):
    """(the token that ends texts, cases), `runs` being the greedy ones; None where a near tie makes the model unfit."""
    end = choose_end(model, exact, prompts, runs, start)
    others, cases = [nudged(model, 77 + k) for k in range(2)], []
    for i, (prompt, (ids, gap, _)) in enumerate(zip(prompts, runs)):
        cases.append({"name": f"greedy.{i}", "mode": "greedy", "input_ids": prompt[0].tolist(), "ids_without_eos_stop": ids,
                      "ids": ids[:ids.index(end) + 1] if end in ids else ids, "least_top2_gap": round(gap, 5)})
        for penalty in PENALTIES:
            found = hypotheses(model, exact, prompt, end, penalty, start)
            for other in others:
                if [h["ids"] for h in hypotheses(other, exact, prompt, end, penalty, start)] != [h["ids"] for h in found]:
                    return None
            cases.append({"name": f"beam.{i}.lp{penalty}", "mode": "beam", "input_ids": prompt[0].tolist(), "length_penalty": penalty,
                          "hypotheses": found})
    return end, cases
