#!/usr/bin/env python3
"""Measures what guessed tokens gain: `tessera generate` with --speculate 0 and with guesses, in turns, on a text that repeats itself and on one that does not.

    bench/speculate.py [--model shape:llama-110m] [--chat] [--tokens 128] [--rounds 5] [--speculate N] [--dtype TYPE] [--device D] [--build build/release]

Without --chat the prompt is ids: greedy decoding with random weights soon goes in circles (every guess is right), drawing from the 40 likeliest
tokens does not. With --chat, for models that answer: one message asks for a copy of a text, the other for a story. Both ways must print the same
bytes. Prints one JSON line for each text: tokens/s by the command's own clock (medians), the median over the rounds of the ratio of the two, in
which the first of a pair changes from round to round, its quartiles, and how many tokens were guessed and right. The exit code is 1 where
bytes differ.
"""

import argparse
import pathlib
import re
import statistics
import subprocess
import sys

from duel import ROOT, machine, say

PASSAGE = ("The harbour master keeps a ledger of every vessel that enters the bay. Each entry names the captain, the cargo, and the hour of the tide. When a "
           "vessel leaves, the harbour master draws a line through its entry and writes the name of the next port beside it. No vessel may leave before "
           "its dues are paid, and no entry may be changed once the line is drawn.")
TALK = {"copies": ("--temp", 0, f"Repeat this text word for word, and nothing else:\n\n{PASSAGE}"),
        "story": ("--temp", 0.8, "--seed", 1, "Write a story about a lighthouse keeper.")}
IDS = {"circles": ("--temp", 0, "--ids", "5,6,7,8"), "drawn": ("--temp", 1, "--top-k", 40, "--seed", 1, "--ids", "5,6,7,8")}


def run(o, asked, speculate):
    command = [o.build / "bin" / "tessera", "generate", "-m", o.model, "-n", o.tokens, *(("--chat",) if o.chat else ("--print-ids", "--ignore-eos")),
               *(("--dtype", o.dtype) if o.dtype else ()), *(("-d", o.device) if o.device else ()), *speculate, *asked]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
    rate = float(re.search(r"decode \d+ tokens, ([\d.]+) tokens/s", done.stderr).group(1))
    guesses = re.search(r"; (\d+) of (\d+) guessed tokens were right", done.stderr)
    return done.stdout, rate, tuple(map(int, guesses.groups())) if guesses else (0, 0)


def measure(o, asked, ways):
    rates, same, guesses = {way: [] for way in ways}, True, (0, 0)
    for number in range(-1, o.rounds):
        texts = []
        for way in list(ways)[::-1 if number % 2 else 1]:
            text, rate, found = run(o, asked, ways[way])
            texts.append(text)
            guesses = found if way == "on" else guesses
            if number >= 0:  # the first builds kernels
                rates[way].append(rate)
        same = same and texts[0] == texts[1]
    return rates, same, guesses


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="shape:llama-110m")
    parser.add_argument("--chat", action="store_true")
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--speculate", type=int)
    parser.add_argument("--dtype")
    parser.add_argument("--device")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    o = parser.parse_args()
    ways = {"off": ("--speculate", 0), "on": () if o.speculate is None else ("--speculate", o.speculate)}
    say(schema=1, bench="speculate", **machine(), model=o.model, dtype=o.dtype, tokens=o.tokens, rounds=o.rounds)
    fine = True
    for name, asked in (TALK if o.chat else IDS).items():
        rates, same, (right, guessed) = measure(o, asked, ways)
        ratios = [on / off for on, off in zip(rates["on"], rates["off"])]
        low, _, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
        say(text=name, off=round(statistics.median(rates["off"]), 1), on=round(statistics.median(rates["on"]), 1), ratio=round(statistics.median(ratios), 3),
            quartiles=[round(low, 3), round(high, 3)], right=right, guessed=guessed, same_bytes=same)
        fine = fine and same
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
