"""Reads the shares in a page of tessera attention; src/task/show/packed_attention.h describes the format."""

import base64


class Bits:
    def __init__(self, data):
        self.data, self.at, self.range, self.code = data, 5, 0xffffffff, int.from_bytes(data[1:5], "big")
        self.odds = [[1024] * 256 for _ in range(9)]

    def bit(self, odds, at):
        bound = (self.range >> 11) * odds[at]
        bit = self.code >= bound
        if bit:
            self.code -= bound
            self.range -= bound
            odds[at] -= odds[at] >> 5
        else:
            self.range = bound
            odds[at] += (2048 - odds[at]) >> 5
        while self.range < 1 << 24:
            self.range <<= 8
            self.code = self.code << 8 | self.data[self.at]
            self.at += 1
        return int(bit)

    def even(self):
        return self.bit([1024], 0)

    def share(self, left, above):
        odds, at = self.odds[(left.bit_length() + above.bit_length() + 1) // 2], 1
        for _ in range(8):
            at = at << 1 | self.bit(odds, at)
        return at - 256


def unpack(text, n, T, S, causal):
    """n lists, each of T x S shares."""
    bits, maps = Bits(base64.b64decode(text)), []
    for _ in range(n):
        flat, row = [], [0] * S
        for t in range(T):
            largest = 0
            for _ in range(16):
                largest = largest << 1 | bits.even()
            end = min(t + 1, S) if causal else S
            left = 0
            for s in range(end):
                left = row[s] = bits.share(left, row[s]) if largest else 0
            flat += [largest / 65535 * b / 255 for b in row[:end]] + [0.0] * (S - end)
        maps.append(flat)
    assert bits.at == len(bits.data), "something is left over"
    return maps
