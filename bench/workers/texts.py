"""Texts with an exact number of tokens in BERT's vocabulary: every word is one piece; [CLS] and [SEP] are counted."""

WORDS = ("the man is eating a piece of bread and water from an old house while his dog runs over green field near river under blue sky with "
         "two small children who play music every day in summer time").split()


def text_of(tokens, number):
    return " ".join(WORDS[(number * 7 + i * (number % 5 + 1)) % len(WORDS)] for i in range(tokens - 2))


def batch_of(batch, tokens):
    return [text_of(tokens, number) for number in range(batch)]


def mixed(batch):
    """The lengths of a corpus: most are short, some long; they are the same each time."""
    lengths = [8 + (number * number * 37 + number * 11) % 24 for number in range(batch)]
    for number in range(0, batch, 8):
        lengths[number] = 120 + number * 5 % 129
    return [text_of(tokens, number) for number, tokens in enumerate(lengths)], lengths
