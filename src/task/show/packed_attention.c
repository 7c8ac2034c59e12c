/* task/show/packed_attention.c - packs attention weights by a range coder into a short text. */
#include "task/show/packed_attention.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = 9, EVEN = 1 << 10, MOVE = 5, STEPS = 255, LARGEST = 65535 };
#define SMALL_RANGE (UINT32_C(1) << 24)

typedef struct coder {
    tsri_bytes bytes;
    uint64_t low;
    uint32_t range;
    uint8_t held;   /* the last byte, which a carry may still change */
    uint64_t whole; /* bytes not yet written: `held`, and those of 0xff behind it */
    tsr_status status;
    uint16_t odds[LEVELS][256]; /* odds of a 0, given the bits before */
} coder;

static void put_byte(coder *c, uint8_t byte) {
    if (c->status == TSR_OK)
        c->status = tsri_base_bytes_append(&c->bytes, (const char *)&byte, 1);
}

static void shift(coder *c) {
    if (c->low < UINT64_C(0xff000000) || c->low >> 32) {
        const uint8_t carry = (uint8_t)(c->low >> 32);
        for (uint8_t byte = c->held; c->whole; c->whole--, byte = 0xff)
            put_byte(c, (uint8_t)(byte + carry));
        c->held = (uint8_t)(c->low >> 24);
    }
    c->whole++;
    c->low = (c->low & 0x00ffffff) << 8;
}

static void put_bit(coder *c, uint16_t *odds, unsigned bit) {
    const uint32_t bound = (c->range >> 11) * *odds;
    if (bit) {
        c->low += bound;
        c->range -= bound;
        *odds = (uint16_t)(*odds - (*odds >> MOVE));
    } else {
        c->range = bound;
        *odds = (uint16_t)(*odds + ((2 * EVEN - *odds) >> MOVE));
    }
    for (; c->range < SMALL_RANGE; c->range <<= 8)
        shift(c);
}

static unsigned level(unsigned byte) {
    unsigned n = 0;
    for (; byte; byte >>= 1)
        n++;
    return n;
}

static void put_share(coder *c, unsigned left, unsigned above, unsigned byte) {
    uint16_t *odds = c->odds[(level(left) + level(above) + 1) / 2];
    for (unsigned at = 1, i = 8; i-- > 0;) {
        const unsigned bit = byte >> i & 1;
        put_bit(c, &odds[at], bit);
        at = at << 1 | bit;
    }
}

/* `bytes` has the row above on entry, and this row on return. */
static void put_row(coder *c, const float *row, size_t n, uint8_t *bytes) {
    float most = 0;
    for (size_t s = 0; s < n; s++)
        most = row[s] > most ? row[s] : most;
    const unsigned largest = (unsigned)lrintf((float)LARGEST * (most < 1 ? most : 1));
    for (unsigned i = 16; i-- > 0;) {
        uint16_t even = EVEN;
        put_bit(c, &even, largest >> i & 1);
    }
    unsigned left = 0;
    for (size_t s = 0; s < n; s++) {
        const float part = largest && row[s] > 0 ? row[s] / most : 0;
        const unsigned byte = (unsigned)lrintf((float)STEPS * part);
        if (largest)
            put_share(c, left, bytes[s], byte);
        bytes[s] = (uint8_t)byte;
        left = byte;
    }
}

static tsr_status append_base64(const tsri_bytes *bytes, tsri_bytes *out) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < bytes->size; i += 3) {
        char four[4];
        const size_t n = bytes->size - i < 3 ? bytes->size - i : 3;
        uint32_t bits = 0;
        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (k < n ? (uint8_t)bytes->data[i + k] : 0);
        for (int k = 0; k < 4; k++)
            four[k] = (size_t)k <= n ? letters[bits >> (18 - 6 * k) & 63] : '=';
        TRY(tsri_base_bytes_append(out, four, 4));
    }
    return TSR_OK;
}

tsr_status tsri_task_pack_attention(const float *weights, size_t n, size_t T, size_t S, bool causal,
                                    tsri_bytes *out) {
    coder *c;
    uint8_t *bytes;
    TRY(tsri_base_new(1, sizeof *c, &c));
    *c = (coder){.range = UINT32_MAX, .whole = 1};
    for (size_t i = 0; i < LEVELS; i++)
        for (size_t k = 0; k < 256; k++)
            c->odds[i][k] = EVEN;
    c->status = tsri_base_new(S + 1, 1, &bytes);
    for (size_t m = 0; m < n && c->status == TSR_OK; m++) {
        memset(bytes, 0, S);
        for (size_t t = 0; t < T; t++)
            put_row(c, weights + (m * T + t) * S, causal && t + 1 < S ? t + 1 : S, bytes);
    }
    for (int i = 0; i < 5; i++)
        shift(c);
    tsr_status status = c->status;
    if (status == TSR_OK)
        status = append_base64(&c->bytes, out);
    tsri_base_bytes_clear(&c->bytes);
    free(bytes);
    free(c);
    return status;
}
