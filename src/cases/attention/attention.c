/* cases/attention/attention.c - the cases of attention: prefill and decode; causal, padded,
 * windowed, fully masked; grouped queries; Dv != D; slots, sources and a bias; several chunks of 256
 * keys. */
#include "cases/attention/attention.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef tsri_case_attention_form form;

/* A score is a sum of D terms: off by (D + 3) u |scale| sum|q||k|, where the sum is at most D for
 * operands within 1. So a probability is off by twice that, relative, and by what exp (4 ulp), the
 * sum over S and the division add: S + 16 u. The output is a mean of v with these weights. */
static void bound(tsri_case *c, int64_t S, int64_t D, double score) {
    const double relative = (2 * (double)(D + 4) * score + (double)(2 * S) + 32) * TSRI_CASE_U;
    c->in[2].absolute = true;
    c->term_attrs = c->attrs;
    c->bound[0].terms = relative;
    c->bound[0].absolute = TSRI_CASE_TINY;
    c->bound[1].absolute = relative;
    c->bound[1].relative = 4 * TSRI_CASE_U;
    tsri_case_reason(c,
                     "(2 (D + 4) max|score| + 2 S + 32) u sum p|v|: scores are sums of D = %lld "
                     "terms up to %.3g, p sums of S = %lld exponentials",
                     (long long)D, score, (long long)S);
}

tsri_case *tsri_case_attention(tsri_case_list *list, uint32_t op, int past, float scale,
                               const form *f) {
    tsri_case *c = tsri_case_add(list, op, "B=%lld T=%lld S=%lld H=%lld/%lld D=%lld/%lld%s",
                                 (long long)f->B, (long long)f->T, (long long)f->S, (long long)f->H,
                                 (long long)f->G, (long long)f->D, (long long)f->Dv, f->what);
    tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 4, TSRI_CASE_B, TSRI_CASE_T, TSRI_CASE_K(f->H),
                 TSRI_CASE_K(f->D));
    for (int i = 1; i < 3; i++)
        tsri_case_in(c, i, TSR_KIND_INPUT, TSR_F32, 4, TSRI_CASE_B, TSRI_CASE_S, TSRI_CASE_K(f->G),
                     TSRI_CASE_K(i == 1 ? f->D : f->Dv));
    if (f->n_past)
        tsri_case_ints(c, past, TSRI_CASE_B, f->n_past, f->past);
    if (f->n_len)
        tsri_case_ints(c, past + 1, TSRI_CASE_B, f->n_len, f->len);
    c->sizes[0] = f->B;
    c->sizes[1] = f->T;
    c->sizes[2] = f->S;
    c->attrs.attention = (tsr_attention_attrs){.struct_size = sizeof c->attrs.attention,
                                               .causal = f->causal,
                                               .window = f->window,
                                               .scale = scale};
    return c;
}

static tsri_case *add(tsri_case_list *list, const form *f) {
    const double scale = 1 / sqrt((double)f->D);
    tsri_case *c = tsri_case_attention(list, TSR_OP_ATTENTION, 3, (float)scale, f);
    bound(c, f->S, f->D, scale * (double)f->D);
    return c;
}

/* The same, with the word of its kind before what the form says. */
static tsri_case *add_as(tsri_case_list *list, const char *kind, const form *given) {
    form f = *given;
    char what[64];
    snprintf(what, sizeof what, " %s%s", kind, f.what);
    f.what = what;
    return add(list, &f);
}

/* Distances within the reach and beyond it on either side, for all lengths around a tile of queries
 * or keys. */
static void add_relative(tsri_case_list *list) {
    static const struct {
        form form;
        int reach;
        tsr_kind kind;
    } rows[] = {
        {{2, 5, 7, 4, 2, 8, 8, 0, 0, 0, 0, {0}, {0}, ""}, 3, TSR_KIND_WEIGHT},
        {{2, 17, 17, 3, 3, 16, 16, 0, 0, 0, 2, {0}, {17, 4}, " padded"}, 20, TSR_KIND_WEIGHT},
        {{1, 31, 33, 4, 4, 16, 16, 0, 0, 0, 0, {0}, {0}, ""}, 8, TSR_KIND_INPUT},
        {{1, 32, 32, 2, 1, 8, 8, 1, 0, 0, 0, {0}, {0}, " causal"}, 16, TSR_KIND_INPUT},
        {{1, 33, 31, 2, 1, 8, 8, 0, 0, 0, 0, {0}, {0}, ""}, 40, TSR_KIND_INPUT},
        {{2, 70, 130, 4, 2, 48, 32, 1, 40, 2, 2, {60, 11}, {130, 81}, " window 40, cached"},
         31,
         TSR_KIND_INPUT},
        {{1, 97, 97, 2, 2, 8, 8, 0, 0, 0, 0, {0}, {0}, ""}, 1, TSR_KIND_INPUT},
        {{2, 3, 9, 2, 1, 8, 8, 0, 0, 0, 0, {0}, {0}, " no distance"}, 0, TSR_KIND_INPUT},
        {{3, 1, 40, 4, 4, 16, 16, 1, 0, 3, 3, {39, 0, 12}, {40, 1, 13}, " decode"},
         16,
         TSR_KIND_WEIGHT},
        {{1, 1, 131, 8, 2, 64, 64, 1, 0, 1, 1, {130}, {131}, " decode"}, 128, TSR_KIND_INPUT},
        {{2, 2, 70, 4, 2, 80, 80, 1, 16, 2, 2, {68, 3}, {70, 5}, " decode, window"},
         5,
         TSR_KIND_INPUT},
        {{1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, {0}, {0}, ""}, 2, TSR_KIND_INPUT},
        {{1, 0, 8, 2, 2, 8, 8, 1, 0, 1, 1, {0}, {8}, " no queries"}, 2, TSR_KIND_INPUT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        form f = rows[i].form;
        char what[64];
        snprintf(what, sizeof what, " relative, reach %d%s", rows[i].reach, f.what);
        f.what = what;
        tsri_case *c = add(list, &f);
        tsri_case_in(c, 8, rows[i].kind, TSR_F32, 2, TSRI_CASE_K(f.H),
                     TSRI_CASE_K(2 * rows[i].reach + 1));
        if (i % 2) /* with a bias too */
            tsri_case_in(c, 7, TSR_KIND_INPUT, TSR_F32, 4, TSRI_CASE_K(1), TSRI_CASE_K(f.H),
                         TSRI_CASE_T, TSRI_CASE_S);
        bound(c, f.S, f.D, sqrt((double)f.D) + 1 + (double)(i % 2));
    }
}

/* Operands as in models: an encoder's queries, keys and values are parts of one product, and it has
 * as many keys as queries. A decoder reads keys from slots of [G, capacity, D]: those of the source
 * text, which several sequences share, and those of its own hypotheses. */
static void add_models(tsri_case_list *list) {
    static const form encoder[] = {
        {3, 33, 33, 4, 4, 16, 16, 0, 0, 0, 3, {0}, {33, 4, 17}, " one product, padded"},
        {2, 5, 5, 3, 3, 32, 32, 0, 0, 0, 2, {0}, {5, 2}, " one product, padded"},
        {2, 1, 1, 2, 2, 64, 64, 0, 0, 0, 2, {0}, {1, 1}, " one product, one token"},
    };
    static const form decoder[] = {
        {4, 1, 40, 4, 4, 32, 32, 0, 0, 0, 4, {0}, {40, 7, 33, 40}, " source slots"},
        {4, 33, 40, 4, 2, 32, 32, 0, 0, 0, 4, {0}, {40, 7, 33, 1}, " source slots"},
        {4, 1, 70, 4, 4, 32, 32, 1, 0, 4, 4, {69, 0, 31, 32}, {70, 1, 32, 33}, " keys by source"},
        {2, 9, 70, 4, 2, 16, 16, 1, 0, 2, 2, {61, 0}, {70, 9}, " keys by source"},
        {2, 3, 70, 4, 1, 24, 24, 1, 20, 2, 2, {60, 4}, {63, 7}, " keys by source, window"},
    };
    static const tsr_dtype dtypes[] = {TSR_F32, TSR_F16};
    for (size_t i = 0; i < sizeof encoder / sizeof *encoder; i++) {
        tsri_case *c = add(list, &encoder[i]);
        for (int k = 0; k < 3; k++)
            c->in[k].view = TSRI_CASE_AMONG;
        c->in[1].dim[1] = c->in[2].dim[1] = TSRI_CASE_T;
    }
    for (size_t i = 0; i < 2 * sizeof decoder / sizeof *decoder; i++) {
        const form *f = &decoder[i / 2];
        tsri_case *c = add(list, f);
        for (int k = 1; k < 3; k++) {
            c->in[k].view = TSRI_CASE_SWAPPED;
            c->in[k].dtype = dtypes[i % 2];
            c->in[k].dim[0] = TSRI_CASE_K(3);
            c->in[k].dim[1] = TSRI_CASE_K(f->S);
        }
        if (!f->causal) {
            tsri_case_ints(c, 5, TSRI_CASE_B, 4, (const int32_t[]){2, 0, 2, 2});
            continue;
        }
        tsri_case_operand *source =
            tsri_case_in(c, 6, TSR_KIND_INPUT, TSR_I32, 2, TSRI_CASE_B, TSRI_CASE_K(f->S));
        source->fill = TSRI_CASE_INTEGER;
        source->low = 0, source->high = 2;
    }
}

static void add_variants(tsri_case_list *list) {
    static const form cached = {3, 2, 20, 4, 2, 8, 8, 1, 0, 3, 3, {7, 0, 17}, {9, 2, 19}, ""};
    static const form plain = {2, 5, 9, 4, 2, 8, 8, 0, 0, 0, 0, {0}, {0}, ""};
    form f = cached;
    f.what = " slots";
    tsri_case *c = add(list, &f); /* the keys of 3 sequences lie in 5 slots */
    c->in[1].dim[0] = c->in[2].dim[0] = TSRI_CASE_K(5);
    tsri_case_ints(c, 5, TSRI_CASE_B, 3, (const int32_t[]){4, 0, 2});
    f.what = " sources";
    c = add(list, &f); /* each key of a hypothesis comes from one of 4 slots */
    c->in[1].dim[0] = c->in[2].dim[0] = TSRI_CASE_K(4);
    tsri_case_operand *source =
        tsri_case_in(c, 6, TSR_KIND_INPUT, TSR_I32, 2, TSRI_CASE_B, TSRI_CASE_S);
    source->fill = TSRI_CASE_INTEGER;
    source->low = 0, source->high = 3;
    for (int per_batch = 0; per_batch < 2; per_batch++) {
        f = plain;
        f.what = per_batch ? " bias [B,H,T,S]" : " bias [1,H,T,S]";
        c = add(list, &f);
        tsri_case_in(c, 7, TSR_KIND_INPUT, TSR_F32, 4, per_batch ? TSRI_CASE_B : TSRI_CASE_K(1),
                     TSRI_CASE_K(f.H), TSRI_CASE_T, TSRI_CASE_S);
        bound(c, f.S, f.D, sqrt((double)f.D) + 1);
    }
    f = plain;
    f.what = " mask of -inf";
    c = add(list, &f);
    tsri_case_operand *mask = tsri_case_in(c, 7, TSR_KIND_INPUT, TSR_F32, 4, TSRI_CASE_K(1),
                                           TSRI_CASE_K(f.H), TSRI_CASE_T, TSRI_CASE_S);
    mask->fill = TSRI_CASE_MASK;
    mask->low = 0.4;
    f.what = " everything masked";
    c = add(list, &f);
    mask = tsri_case_in(c, 7, TSR_KIND_INPUT, TSR_F32, 4, TSRI_CASE_K(1), TSRI_CASE_K(f.H),
                        TSRI_CASE_T, TSRI_CASE_S);
    mask->fill = TSRI_CASE_MASK;
    mask->low = 2;
    c->sparse = true;
    f.what = " strided";
    c = add(list, &f);
    for (int i = 0; i < 3; i++)
        c->in[i].view = TSRI_CASE_SLICED;
    f.what = " log-sum-exp";
    c = add(list, &f);
    c->want = 2;
    f = cached;
    for (int i = 0; i < 4;
         i++) { /* the dtypes in which a session may keep keys and values; 2 and 40 queries */
        const form prefill = {2, 40, 67, 6, 2, 36, 20, 1, 0, 2, 2, {27, 3}, {67, 43}, ""};
        f = i % 2 ? prefill : cached;
        f.what = i < 2 ? " f16" : " bf16";
        c = add(list, &f);
        c->in[1].dtype = c->in[2].dtype = i < 2 ? TSR_F16 : TSR_BF16;
    }
    f = cached;
    f.what = " all scores negative"; /* a mask of 0 instead of -inf would win */
    c = add(list, &f);
    c->in[0].low = 0.5, c->in[1].low = -1, c->in[1].high = -0.5;
    f.what = " scores beyond exp's range";
    c = add(list, &f);
    c->in[0].low = -60, c->in[0].high = 60;
    bound(c, f.S, f.D, 60 * sqrt((double)f.D));
    f.what = " equal scores, integer values";
    c = add(list, &f);
    c->attrs.attention.scale = 0x1p-1f;
    c->in[0].fill = TSRI_CASE_EQUAL, c->in[1].fill = TSRI_CASE_EQUAL;
    c->in[2].fill = TSRI_CASE_INTEGER;
    c->in[2].low = 1, c->in[2].high = 64;
    bound(c, f.S, 0, 0); /* every score is exact and every exponential 1: the mean remains */
    tsri_case_reason(c, "(2 S + 32) u sum p|v|: all scores are exact and equal, so this is the "
                        "mean of the visible values");
}

/* What some cases of many keys have beyond queries, keys and values. */
enum { PLAIN, LSE, SLOTS, SOURCES, MASK, RELATIVE };

static void add_operand(tsri_case *c, int with, const form *f) {
    tsri_case_operand *x;
    switch (with) {
    case LSE:
        c->want = 2;
        break;
    case SLOTS:
        c->in[1].dim[0] = c->in[2].dim[0] = TSRI_CASE_K(3);
        tsri_case_ints(c, 5, TSRI_CASE_B, 2, (const int32_t[]){2, 0});
        break;
    case SOURCES:
        x = tsri_case_in(c, 6, TSR_KIND_INPUT, TSR_I32, 2, TSRI_CASE_B, TSRI_CASE_S);
        x->fill = TSRI_CASE_INTEGER;
        x->low = 0, x->high = 1;
        break;
    case MASK: /* some queries see no key of a chunk */
        x = tsri_case_in(c, 7, TSR_KIND_INPUT, TSR_F32, 4, TSRI_CASE_K(1), TSRI_CASE_K(f->H),
                         TSRI_CASE_T, TSRI_CASE_S);
        x->fill = TSRI_CASE_MASK;
        x->low = 0.99;
        break;
    case RELATIVE:
        tsri_case_in(c, 8, TSR_KIND_INPUT, TSR_F32, 2, TSRI_CASE_K(f->H), TSRI_CASE_K(2 * 40 + 1));
        break;
    default:
        break;
    }
}

/* Scores of up to about 5 with caps around them, by all forms: few and many queries and keys, several
 * chunks, key heads, slots, a bias after the cap, f16 products. tanh is off by 4 u and is multiplied by
 * the cap; the quotient before it adds 2 u of a score, and no score grows: 8 u more of each. */
static void add_soft_caps(tsri_case_list *list) {
    static const struct {
        form form;
        float cap;
        int with;
    } rows[] = {
        {{2, 5, 7, 4, 2, 8, 8, 1, 0, 2, 2, {0, 2}, {5, 7}, ""}, 1.5f, PLAIN},
        {{1, 33, 33, 6, 2, 20, 12, 1, 0, 1, 1, {0}, {33}, ""}, 0.3f, PLAIN},
        {{2, 70, 130, 4, 2, 48, 32, 1, 40, 2, 2, {60, 11}, {130, 81}, " window 40"}, 2, LSE},
        {{3, 1, 40, 4, 4, 16, 16, 1, 0, 3, 3, {39, 0, 12}, {40, 1, 13}, " decode"}, 50, PLAIN},
        {{2, 2, 530, 8, 1, 64, 64, 1, 0, 2, 2, {528, 509}, {530, 511}, " chunks"}, 1, SLOTS},
        {{1, 2, 520, 4, 2, 16, 16, 1, 0, 1, 1, {518}, {520}, " chunks, relative"}, 1, RELATIVE},
        {{2, 5, 60, 4, 2, 16, 16, 0, 0, 0, 2, {0}, {60, 58}, " mask of -inf"}, 4, MASK},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        form f = rows[i].form;
        char what[64];
        snprintf(what, sizeof what, " soft cap %g%s", (double)rows[i].cap, f.what);
        f.what = what;
        tsri_case *c = add(list, &f);
        c->attrs.attention.soft_cap = rows[i].cap;
        c->in[0].low = -5, c->in[0].high = 5;
        add_operand(c, rows[i].with, &f);
        bound(c, f.S, f.D + 4, 5 * sqrt((double)f.D) + (rows[i].with == RELATIVE));
        tsri_case_reason(
            c,
            "(2 (D + 8) max|score| + 2 S + 32) u sum p|v|, with D = %lld: 4 u more of "
            "a score than without a cap, for tanh and the quotient before it; S = %lld",
            (long long)f.D, (long long)f.S);
    }
    static const form narrow[] = {
        {2, 40, 67, 6, 2, 64, 64, 1, 0, 2, 2, {27, 3}, {67, 43}, " soft cap 2, f16"},
        {2, 5, 67, 6, 2, 64, 64, 1, 0, 2, 2, {27, 3}, {67, 43}, " soft cap 2, bf16"},
        {2, 3, 300, 4, 1, 24, 40, 1, 0, 2, 2, {297, 253}, {300, 256}, " soft cap 2, f16 chunks"},
    };
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++) {
        const form *f = &narrow[i];
        const bool half = !strstr(f->what, "bf16");
        const double r = half ? 0x1p-11 : 0x1p-8, score = sqrt((double)f->D);
        tsri_case *c = add(list, f);
        bound(c, f->S, f->D + 4, score);
        add_operand(c, f->S > 256 ? SLOTS : PLAIN, f);
        c->attrs.attention.soft_cap = 2;
        c->attrs.attention.compute = half ? TSR_COMPUTE_F16 : TSR_COMPUTE_BF16;
        c->bound[0].terms += 2.02 * r * (1 + 2 * score);
        c->bound[0].absolute += half ? 0x1p-14 * (2 + 4 * score) : 0;
    }
}

/* Sinks among scores of up to about 3, by all forms; queries that see no key. The sum has one term more,
 * whose exponent is off by 6 u: as two keys and two dimensions more. */
static void add_sinks(tsri_case_list *list) {
    static const struct {
        form form;
        int with;
        tsr_compute compute;
    } rows[] = {
        {{2, 5, 7, 4, 2, 8, 8, 1, 0, 2, 2, {0, 2}, {5, 7}, ""}, PLAIN, 0},
        {{1, 33, 33, 6, 2, 20, 12, 1, 0, 1, 1, {0}, {33}, ""}, LSE, 0},
        {{2, 70, 130, 4, 2, 48, 32, 1, 40, 2, 2, {60, 11}, {130, 81}, " window 40"}, PLAIN, 0},
        {{3, 1, 40, 8, 2, 16, 16, 1, 0, 3, 3, {39, 0, 12}, {40, 1, 13}, " decode"}, PLAIN, 0},
        {{2, 2, 530, 8, 1, 64, 64, 1, 0, 2, 2, {528, 509}, {530, 511}, " chunks"}, SLOTS, 0},
        {{2, 2, 520, 4, 2, 16, 16, 1, 30, 2, 2, {518, 280}, {520, 282}, " chunks"}, LSE, 0},
        {{2, 3, 40, 4, 2, 16, 16, 0, 0, 0, 2, {0}, {40, 0}, " no key"}, LSE, 0},
        {{2, 3, 300, 4, 4, 16, 16, 0, 0, 0, 2, {0}, {300, 0}, " no key"}, LSE, 0},
        {{2, 40, 67, 6, 2, 64, 64, 1, 0, 2, 2, {27, 3}, {67, 43}, " f16"}, PLAIN, TSR_COMPUTE_F16},
        {{2, 5, 67, 6, 2, 64, 64, 1, 0, 2, 2, {27, 3}, {67, 43}, " bf16"}, PLAIN, TSR_COMPUTE_BF16},
        {{2, 3, 300, 4, 1, 24, 40, 1, 0, 2, 2, {297, 253}, {300, 256}, " chunks, bf16"},
         SLOTS,
         TSR_COMPUTE_BF16},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const form f = rows[i].form;
        tsri_case *c = add_as(list, "sinks", &f);
        const double score = sqrt((double)f.D);
        const bool half = rows[i].compute == TSR_COMPUTE_F16;
        tsri_case_operand *sinks = tsri_case_in(c, 9, i % 2 ? TSR_KIND_INPUT : TSR_KIND_WEIGHT,
                                                TSR_F32, 1, TSRI_CASE_K(f.H));
        sinks->low = -3, sinks->high = 3;
        add_operand(c, rows[i].with, &f);
        bound(c, f.S + 2, f.D + 2, score > 3 ? score : 3);
        c->attrs.attention.compute = c->term_attrs.attention.compute = rows[i].compute;
        if (rows[i].compute) {
            c->bound[0].terms += 2.02 * (half ? 0x1p-11 : 0x1p-8) * (1 + 2 * score);
            c->bound[0].absolute += half ? 0x1p-14 * (2 + 4 * score) : 0;
        }
    }
}

/* Keys in several chunks of 256: as many as a chunk, one fewer and one more; queries on both sides
 * of a border; windows, lengths and masks that leave out a part of a chunk, or all of it. */
static void add_chunks(tsri_case_list *list) {
    static const struct {
        form form;
        int with;
        tsr_dtype dtype; /* of keys and values */
    } rows[] = {
        {{1, 1, 255, 4, 4, 16, 16, 1, 0, 1, 1, {254}, {255}, ""}, PLAIN, TSR_F16},
        {{1, 1, 256, 4, 1, 16, 16, 1, 0, 1, 1, {255}, {256}, ""}, LSE, TSR_F32},
        {{2, 2, 257, 8, 1, 16, 16, 1, 0, 2, 2, {255, 254}, {257, 256}, ""}, LSE, TSR_F32},
        {{2, 3, 511, 4, 1, 24, 24, 1, 0, 2, 2, {508, 253}, {511, 256}, ""}, SLOTS, TSR_F16},
        {{3, 4, 513, 4, 4, 16, 8, 1, 0, 3, 3, {509, 0, 255}, {513, 4, 259}, ""}, LSE, TSR_BF16},
        {{2, 9, 1000, 4, 4, 8, 16, 1, 0, 2, 2, {991, 250}, {1000, 259}, ""}, SOURCES, TSR_F32},
        {{1, 1, 1000, 8, 1, 64, 64, 1, 0, 1, 1, {999}, {1000}, ""}, PLAIN, TSR_F32},
        {{2, 2, 530, 8, 1, 128, 128, 1, 0, 2, 2, {528, 509}, {530, 511}, ""}, PLAIN, TSR_F16},
        {{2, 1, 300, 2, 1, 256, 256, 1, 0, 2, 2, {299, 256}, {300, 257}, ""}, LSE, TSR_F32},
        {{1, 7, 300, 2, 2, 5, 7, 1, 0, 1, 1, {290}, {297}, " odd"}, LSE, TSR_F16},
        {{2, 5, 600, 4, 1, 16, 16, 1, 300, 2, 2, {595, 300}, {600, 305}, " window 300"},
         SLOTS,
         TSR_BF16},
        {{2, 1, 700, 8, 1, 16, 16, 1, 100, 2, 2, {699, 400}, {700, 401}, " window 100"},
         LSE,
         TSR_F16},
        {{2, 8, 700, 2, 1, 16, 16, 1, 4, 2, 2, {509, 692}, {517, 700}, " window 4"}, LSE, TSR_F32},
        {{1, 70, 600, 4, 2, 16, 16, 1, 260, 1, 1, {530}, {600}, " window 260"}, LSE, TSR_F32},
        {{1, 300, 300, 2, 1, 8, 8, 1, 0, 0, 0, {0}, {0}, " prompt"}, LSE, TSR_F32},
        {{1, 300, 300, 2, 1, 8, 8, 0, 65, 0, 0, {0}, {0}, " both sides"}, LSE, TSR_F32},
        {{2, 40, 520, 2, 2, 24, 19, 0, 0, 0, 2, {0}, {520, 100}, " all visible"}, LSE, TSR_F32},
        {{2, 5, 600, 4, 2, 16, 16, 0, 0, 0, 2, {0}, {600, 580}, " mask of -inf"}, MASK, TSR_F32},
        {{1, 2, 520, 4, 2, 16, 16, 1, 0, 1, 1, {518}, {520}, " relative"}, RELATIVE, TSR_F32},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const form f = rows[i].form;
        tsri_case *c = add_as(list, "chunks", &f);
        c->in[1].dtype = c->in[2].dtype = rows[i].dtype;
        add_operand(c, rows[i].with, &f);
        if (rows[i].with == MASK)
            c->want = 2;
        if (rows[i].with == RELATIVE)
            bound(c, f.S, f.D, sqrt((double)f.D) + 1);
    }
}

/* Keys and values in blocks of q8_0, of which a product reads the numbers that they hold: few queries
 * and many, one chunk and several, slots, sources, a window; heads of 1 to 8 blocks. */
static void add_blocks(tsri_case_list *list) {
    static const struct {
        form form;
        int with;
        int64_t most; /* keys that the plan is for; 0: S */
    } rows[] = {
        {{3, 2, 20, 4, 2, 32, 32, 1, 0, 3, 3, {7, 0, 17}, {9, 2, 19}, ""}, PLAIN, 0},
        {{2, 40, 67, 6, 2, 64, 32, 1, 0, 2, 2, {27, 3}, {67, 43}, ""}, LSE, 0},
        {{2, 9, 33, 2, 1, 96, 96, 1, 0, 2, 2, {24, 0}, {33, 9}, ""}, PLAIN, 0},
        {{1, 1, 1000, 8, 1, 64, 64, 1, 0, 1, 1, {999}, {1000}, ""}, PLAIN, 0},
        {{2, 2, 530, 8, 1, 128, 128, 1, 0, 2, 2, {528, 509}, {530, 511}, ""}, PLAIN, 0},
        {{2, 9, 600, 4, 4, 32, 64, 1, 0, 2, 2, {591, 250}, {600, 259}, ""}, SOURCES, 0},
        {{2, 1, 300, 2, 1, 256, 256, 1, 0, 2, 2, {299, 256}, {300, 257}, ""}, PLAIN, 0},
        {{1, 70, 600, 4, 2, 32, 32, 1, 260, 1, 1, {530}, {600}, " window 260"}, LSE, 0},
        {{2, 33, 40, 4, 2, 32, 32, 0, 0, 0, 2, {0}, {40, 7}, " padded"}, PLAIN, 0},
        {{2, 2, 97, 8, 1, 64, 64, 1, 0, 2, 2, {95, 30}, {97, 32}, " of 600"}, PLAIN, 600},
        {{1, 0, 8, 2, 2, 32, 32, 1, 0, 1, 1, {0}, {8}, " no queries"}, PLAIN, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const form f = rows[i].form;
        tsri_case *c = add_as(list, "q8_0", &f);
        /* in slots [G, capacity, D]; every second case [capacity, G, D] */
        for (int k = 1; k < 3; k++) {
            c->in[k].kind = TSR_KIND_STATE;
            c->in[k].dtype = TSR_GGML_Q8_0;
            c->in[k].view = i % 2 ? TSRI_CASE_PACKED : TSRI_CASE_SWAPPED;
            c->in[k].dim[0] = TSRI_CASE_K(3);
            c->in[k].dim[1] = TSRI_CASE_K(f.S);
        }
        c->most[2] = rows[i].most;
        if (rows[i].with != SOURCES)
            tsri_case_ints(c, 5, TSRI_CASE_B, (int)f.B, (const int32_t[]){2, 0, 1});
        add_operand(c, rows[i].with, &f);
        if (rows[i].with == SOURCES) /* one for each key of a state */
            c->in[6].dim[1] = TSRI_CASE_K(f.S);
    }
}

/* A plan for several chunks, run with one: 1 key, some, all of a chunk, one more; a row that sees none. */
static void add_one_chunk(tsri_case_list *list) {
    static const form forms[] = {
        {1, 1, 1, 4, 1, 64, 64, 1, 0, 1, 1, {0}, {1}, " of 600"},
        {2, 2, 97, 8, 1, 64, 64, 1, 0, 2, 2, {95, 30}, {97, 32}, " of 600"},
        {2, 1, 256, 4, 4, 24, 19, 1, 0, 2, 2, {255, 0}, {256, 0}, " of 600"},
        {1, 3, 257, 4, 2, 16, 16, 1, 0, 1, 1, {254}, {257}, " of 600"},
        {2, 5, 130, 4, 2, 5, 7, 0, 0, 0, 2, {0}, {130, 7}, " of 600, odd"},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        tsri_case *c = add(list, &forms[i]);
        c->most[2] = 600;
        c->want = i % 2 ? 0 : 2;
        c->in[1].dtype = c->in[2].dtype = i % 2 ? TSR_F16 : TSR_F32;
    }
}

/* Products in f16 or bf16: queries and keys on both sides of a tile (16 to 64 rows of a key head, 32
 * keys), a chunk and what `split` takes; heads of 1 element to 128; every dtype of keys and values.
 * Integers are exact in both, and so are their scores: what remains is that the exponentials are
 * rounded, and those below 2^-29 may count as 0 in half. Values are at most 8. */
static void add_narrow(tsri_case_list *list) {
    static const struct {
        form form;
        int with;
    } rows[] = {
        {{1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, {0}, {0}, ""}, PLAIN},
        {{2, 5, 31, 4, 2, 8, 8, 0, 0, 0, 2, {0}, {31, 0}, " one sequence sees no key"}, PLAIN},
        {{1, 33, 33, 6, 2, 20, 12, 1, 0, 1, 1, {0}, {33}, " causal"}, PLAIN},
        {{1, 65, 97, 1, 1, 128, 128, 1, 0, 1, 1, {32}, {97}, " causal"}, PLAIN},
        {{3, 1, 256, 8, 1, 64, 64, 1, 0, 3, 3, {255, 0, 31}, {256, 1, 32}, " decode"}, PLAIN},
        {{1, 7, 300, 2, 2, 5, 7, 1, 0, 1, 1, {290}, {297}, " odd"}, PLAIN},
        {{2, 3, 511, 4, 1, 24, 40, 1, 0, 2, 2, {508, 253}, {511, 256}, ""}, SLOTS},
        {{2, 2, 530, 8, 1, 128, 64, 1, 0, 2, 2, {528, 509}, {530, 511}, ""}, PLAIN},
        {{2, 9, 600, 4, 4, 16, 16, 1, 0, 2, 2, {591, 250}, {600, 259}, ""}, SOURCES},
        {{1, 70, 600, 4, 2, 16, 16, 1, 260, 1, 1, {530}, {600}, " window 260"}, PLAIN},
        {{2, 1, 700, 8, 1, 16, 16, 1, 100, 2, 2, {699, 400}, {700, 401}, " window 100"}, PLAIN},
        {{2, 5, 600, 4, 2, 16, 16, 0, 0, 0, 2, {0}, {600, 580}, " mask of -inf"}, MASK},
        {{1, 2, 520, 4, 2, 32, 32, 1, 0, 1, 1, {518}, {520}, " relative"}, RELATIVE},
        {{1, 0, 8, 2, 2, 8, 8, 1, 0, 1, 1, {0}, {8}, " no queries"}, PLAIN},
        {{1, 40, 70, 2, 2, 16, 16, 1, 0, 1, 1, {30}, {70}, " not a tile's last key"}, PLAIN},
        {{1, 290, 290, 2, 1, 16, 16, 0, 40, 0, 0, {0}, {0}, " both sides"}, PLAIN},
    };
    static const tsr_dtype dtypes[] = {TSR_F16, TSR_F32, TSR_BF16};
    for (size_t n = 0; n < 2 * sizeof rows / sizeof *rows; n++) { /* f16: every second one */
        const size_t i = n / 2;
        const form f = rows[i].form;
        const bool half = n % 2 == 0;
        if (half && i % 2)
            continue;
        tsri_case *c = add_as(list, half ? "f16" : "bf16", &f);
        c->attrs.attention.scale = 0x1p-3f;
        for (int k = 0; k < 3; k++) {
            c->in[k].fill = TSRI_CASE_INTEGER;
            c->in[k].low = k < 2 ? -2 : -8, c->in[k].high = k < 2 ? 2 : 8;
        }
        c->in[1].dtype = c->in[2].dtype = dtypes[i % 3];
        add_operand(c, rows[i].with, &f);
        bound(c, f.S, f.D, (double)f.D / 2 + 1);
        c->attrs.attention.compute = half ? TSR_COMPUTE_F16 : TSR_COMPUTE_BF16;
        c->bound[0].terms += half ? 0x1.02p-11 : 0x1.02p-8;
        c->bound[0].absolute += half ? 8 * 0x1p-29 * (double)f.S : 0;
        tsri_case_reason(c,
                         half ? "(1.01 h + (2 (D + 4) max|score| + 2 S + 32) u) sum p|v| + 8 S "
                                "2^-29, h = 2^-11: exponentials are rounded, and those below 2^-29 "
                                "may count as 0; D = %lld, S = %lld"
                              : "(1.01 b + (2 (D + 4) max|score| + 2 S + 32) u) sum p|v|, b = "
                                "2^-8: exponentials are rounded; D = %lld, S = %lld",
                         (long long)f.D, (long long)f.S);
    }
    /* Any numbers: queries and keys are rounded, too, and each score is off by 2.01 of that. */
    for (int i = 0; i < 2; i++) {
        form f = {2, 40, 67, 6, 2, 64, 64, 1, 0, 2, 2, {27, 3}, {67, 43}, ""};
        const double r = i ? 0x1p-8 : 0x1p-11, score = sqrt((double)f.D);
        f.what = i ? " bf16, any numbers" : " f16, any numbers";
        tsri_case *c = add(list, &f);
        c->attrs.attention.compute = i ? TSR_COMPUTE_BF16 : TSR_COMPUTE_F16;
        c->bound[0].terms += 2.02 * r * (1 + 2 * score);
        c->bound[0].absolute += i ? 0 : 0x1p-14 * (2 + 4 * score);
        tsri_case_reason(c,
                         "2.02 r (1 + 2 max|score|) + what f32 rounds, r = %s: q, k, v and the "
                         "exponentials are rounded%s",
                         i ? "2^-8" : "2^-11", i ? "" : "; what half may count as 0");
    }
}

/* Prompts, with as many key heads as query heads and with fewer; an encoder's batch; tokens after
 * 1023 others, alone and in a batch. */
static void add_timed(tsri_case_list *list) {
    static const form forms[] = {
        {1, 512, 512, 12, 12, 64, 64, 1, 0, 1, 1, {0}, {512}, " prompt"},
        {1, 256, 256, 32, 4, 64, 64, 1, 0, 1, 1, {0}, {256}, " prompt"},
        {4, 128, 128, 12, 12, 64, 64, 0, 0, 0, 4, {0}, {128, 100, 77, 31}, " batch of texts"},
        {1, 1, 1024, 12, 12, 64, 64, 1, 0, 1, 1, {1023}, {1024}, " token"},
        {1, 1, 1024, 32, 4, 64, 64, 1, 0, 1, 1, {1023}, {1024}, " token"},
        {4,
         1,
         1024,
         32,
         4,
         64,
         64,
         1,
         0,
         4,
         4,
         {1023, 700, 300, 20},
         {1024, 701, 301, 21},
         " tokens"},
    };
    static const tsr_dtype dtypes[] = {TSR_F32, TSR_F16, TSR_GGML_Q8_0};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        for (int d = 0; d < (forms[i].causal ? 3 : 1); d++) {
            form f = forms[i];
            char what[64];
            snprintf(what, sizeof what, "%s %s", f.what, tsri_tensor_dtype_name(dtypes[d]));
            f.what = what;
            tsri_case *c = add(list, &f);
            for (int k = 1; k < 3 && f.causal; k++) { /* in slots [G, capacity, D] */
                c->in[k].view = TSRI_CASE_SWAPPED;
                c->in[k].kind = TSR_KIND_STATE;
                c->in[k].dtype = dtypes[d];
                c->in[k].dim[0] = TSRI_CASE_K(f.B);
                c->in[k].dim[1] = TSRI_CASE_K(f.S);
            }
            c->timed = true;
        }
}

/* Nothing lies behind the last value of the last sequence, so a read past it is one past the end of the
 * memory: keys of one chunk, and of two. */
static void add_ends(tsri_case_list *list) {
    static const form rows[] = {
        {2, 5, 7, 4, 2, 8, 8, 0, 0, 0, 0, {0}, {0}, " at the end"},
        {1, 2, 300, 2, 1, 8, 8, 0, 0, 0, 0, {0}, {0}, " at the end"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        add(list, &rows[i])->edge = true;
}

void tsri_cases_attention(tsri_case_list *list) {
    static const form forms[] = {
        {2, 5, 7, 4, 2, 8, 8, 1, 0, 2, 2, {0, 2}, {5, 7}, " causal"},
        {1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, {0}, {0}, ""},
        {2, 7, 7, 3, 3, 16, 16, 0, 0, 0, 0, {0}, {0}, " all visible"},
        {1, 15, 17, 2, 2, 7, 5, 0, 0, 0, 0, {0}, {0}, " odd"},
        {2, 3, 310, 4, 2, 8, 8, 1, 0, 2, 2, {214, 307}, {217, 310}, " causal, many keys"},
        {2, 5, 310, 4, 2, 24, 19, 1, 150, 2, 2, {212, 305}, {217, 310}, " window 150, odd"},
        {2, 70, 324, 4, 2, 24, 19, 1, 150, 2, 2, {254, 170}, {324, 240}, " window 150, odd"},
        {2, 70, 310, 4, 2, 8, 8, 1, 0, 2, 2, {240, 170}, {310, 240}, " causal, many keys"},
        {2, 16, 16, 4, 1, 32, 32, 1, 0, 0, 0, {0}, {0}, " causal, one key head"},
        {1, 33, 33, 6, 2, 20, 12, 1, 0, 1, 1, {0}, {33}, " causal, three to a key head"},
        {1, 65, 65, 2, 2, 64, 64, 1, 0, 0, 0, {0}, {0}, " causal"},
        {3, 1, 40, 4, 4, 16, 16, 1, 0, 3, 3, {39, 0, 12}, {40, 1, 13}, " decode"},
        {1, 1, 131, 8, 2, 64, 64, 1, 0, 1, 1, {130}, {131}, " decode"},
        {2, 1, 70, 2, 1, 80, 80, 1, 16, 2, 2, {69, 3}, {70, 4}, " decode, window"},
        {2, 1, 97, 12, 2, 72, 72, 1, 0, 2, 2, {96, 31}, {97, 32}, " decode, six to a key head"},
        {1, 3, 40, 5, 1, 16, 33, 1, 0, 1, 1, {31}, {34}, " three queries"},
        {1, 24, 24, 2, 1, 8, 8, 1, 5, 0, 0, {0}, {0}, " window 5"},
        {2, 70, 70, 4, 2, 32, 32, 0, 9, 0, 2, {0}, {70, 41}, " window 9 to both sides, padded"},
        {1, 1, 20, 2, 1, 8, 8, 0, 6, 1, 0, {9}, {0}, " window 6 to both sides of one query"},
        {2, 70, 130, 4, 2, 48, 32, 1, 40, 2, 2, {60, 11}, {130, 81}, " window 40, cached"},
        {2, 9, 30, 2, 2, 128, 128, 1, 4, 2, 2, {21, 6}, {30, 15}, " window 4, cached"},
        {3, 6, 13, 2, 2, 8, 8, 0, 0, 0, 3, {0}, {13, 4, 1}, " padded"},
        {2, 3, 9, 2, 1, 8, 8, 0, 0, 0, 2, {0}, {0, 9}, " one sequence sees no key"},
        {1, 0, 8, 2, 2, 8, 8, 1, 0, 1, 1, {0}, {8}, " no queries"},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        add(list, &forms[i]);
    add_variants(list);
    add_relative(list);
    add_ends(list);
    add_models(list);
    add_chunks(list);
    add_blocks(list);
    add_one_chunk(list);
    add_narrow(list);
    add_soft_caps(list);
    add_sinks(list);
    add_timed(list);
}
