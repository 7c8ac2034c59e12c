"""What generate() of transformers found, for the golden searches and the golden settings."""

import copy

import torch


def hypotheses(found, first, ends, most, scored):
    """The ids of each hypothesis from place `first` on, up to its end, with its score where the search has scores."""
    out = []
    for i, row in enumerate(found.sequences):
        ids = row[first:].tolist()
        stop = next((k + 1 for k, t in enumerate(ids) if t in ends or k + 1 == most), len(ids))
        out.append({"ids": ids[:stop]})
        if scored:
            out[-1]["score"] = found.sequences_scores[i].item()
    return [h for h in out if h.get("score", 0) > -1e8]


def nudged(model, seed):
    """The model with weights that differ by rounding: a search that it changes is too close to call."""
    other = copy.deepcopy(model)
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in other.parameters():
            p.mul_(1 + 2e-6 * torch.randn(p.shape, generator=g, dtype=torch.float64))
    return other
