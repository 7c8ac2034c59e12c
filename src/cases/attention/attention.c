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
void tsri_case_attention_bound(tsri_case *c, int64_t S, int64_t D, double score) {
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

tsri_case *tsri_case_attention_add(tsri_case_list *list, const form *f) {
    const double scale = 1 / sqrt((double)f->D);
    tsri_case *c = tsri_case_attention(list, TSR_OP_ATTENTION, 3, (float)scale, f);
    tsri_case_attention_bound(c, f->S, f->D, scale * (double)f->D);
    return c;
}

/* The same, with the word of its kind before what the form says. */
tsri_case *tsri_case_attention_add_as(tsri_case_list *list, const char *kind, const form *given) {
    form f = *given;
    char what[64];
    snprintf(what, sizeof what, " %s%s", kind, f.what);
    f.what = what;
    return tsri_case_attention_add(list, &f);
}

enum { FIRST_REPEATED = 2 };
const tsri_case_bias tsri_case_biases[TSRI_CASE_BIASES] = {
    {" bias [1,H,T,S]", false, true, true},
    {" bias [B,H,T,S]", true, true, true},
    {" bias [1,1,T,S]", false, false, true},
    {" bias [B,1,1,S]", true, false, false},
};

void tsri_case_give_bias(tsri_case *c, int operand, const tsri_case_bias *bias, int64_t H) {
    tsri_case_in(c, operand, TSR_KIND_INPUT, TSR_F32, 4, bias->B ? TSRI_CASE_B : TSRI_CASE_K(1),
                 TSRI_CASE_K(bias->H ? H : 1), bias->T ? TSRI_CASE_T : TSRI_CASE_K(1), TSRI_CASE_S);
}

/* Biases of every shape in one tile; those that are the same for heads over several tiles, over two chunks,
 * and for one query. */
static void add_biases(tsri_case_list *list) {
    static const form forms[] = {
        {2, 5, 9, 4, 2, 8, 8, 0, 0, 0, 0, {0}, {0}, ""},
        {2, 40, 67, 6, 2, 36, 20, 0, 0, 0, 2, {0}, {67, 43}, ", padded"},
        {2, 3, 300, 4, 1, 24, 40, 1, 0, 2, 2, {297, 253}, {300, 256}, ", chunks"},
        {3, 1, 40, 4, 4, 16, 16, 1, 0, 3, 3, {39, 0, 12}, {40, 1, 13}, ", decode"},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        for (int b = i ? FIRST_REPEATED : 0; b < TSRI_CASE_BIASES; b++) {
            form f = forms[i];
            char what[64];
            snprintf(what, sizeof what, "%s%s", tsri_case_biases[b].what, f.what);
            f.what = what;
            tsri_case *c = tsri_case_attention_add(list, &f);
            tsri_case_give_bias(c, 7, &tsri_case_biases[b], f.H);
            tsri_case_attention_bound(c, f.S, f.D, sqrt((double)f.D) + 1);
        }
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
        tsri_case *c = tsri_case_attention_add(list, &f);
        tsri_case_in(c, 8, rows[i].kind, TSR_F32, 2, TSRI_CASE_K(f.H),
                     TSRI_CASE_K(2 * rows[i].reach + 1));
        if (i % 2) /* with a bias too */
            tsri_case_in(c, 7, TSR_KIND_INPUT, TSR_F32, 4, TSRI_CASE_K(1), TSRI_CASE_K(f.H),
                         TSRI_CASE_T, TSRI_CASE_S);
        tsri_case_attention_bound(c, f.S, f.D, sqrt((double)f.D) + 1 + (double)(i % 2));
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
        tsri_case *c = tsri_case_attention_add(list, &encoder[i]);
        for (int k = 0; k < 3; k++)
            c->in[k].view = TSRI_CASE_AMONG;
        c->in[1].dim[1] = c->in[2].dim[1] = TSRI_CASE_T;
    }
    for (size_t i = 0; i < 2 * sizeof decoder / sizeof *decoder; i++) {
        const form *f = &decoder[i / 2];
        tsri_case *c = tsri_case_attention_add(list, f);
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
    tsri_case *c = tsri_case_attention_add(list, &f); /* the keys of 3 sequences lie in 5 slots */
    c->in[1].dim[0] = c->in[2].dim[0] = TSRI_CASE_K(5);
    tsri_case_ints(c, 5, TSRI_CASE_B, 3, (const int32_t[]){4, 0, 2});
    f.what = " sources";
    c = tsri_case_attention_add(list, &f); /* each key of a hypothesis comes from one of 4 slots */
    c->in[1].dim[0] = c->in[2].dim[0] = TSRI_CASE_K(4);
    tsri_case_operand *source =
        tsri_case_in(c, 6, TSR_KIND_INPUT, TSR_I32, 2, TSRI_CASE_B, TSRI_CASE_S);
    source->fill = TSRI_CASE_INTEGER;
    source->low = 0, source->high = 3;
    f = plain;
    f.what = " mask of -inf";
    c = tsri_case_attention_add(list, &f);
    tsri_case_operand *mask = tsri_case_in(c, 7, TSR_KIND_INPUT, TSR_F32, 4, TSRI_CASE_K(1),
                                           TSRI_CASE_K(f.H), TSRI_CASE_T, TSRI_CASE_S);
    mask->fill = TSRI_CASE_MASK;
    mask->low = 0.4;
    f.what = " everything masked";
    c = tsri_case_attention_add(list, &f);
    mask = tsri_case_in(c, 7, TSR_KIND_INPUT, TSR_F32, 4, TSRI_CASE_K(1), TSRI_CASE_K(f.H),
                        TSRI_CASE_T, TSRI_CASE_S);
    mask->fill = TSRI_CASE_MASK;
    mask->low = 2;
    c->sparse = true;
    f.what = " strided";
    c = tsri_case_attention_add(list, &f);
    for (int i = 0; i < 3; i++)
        c->in[i].view = TSRI_CASE_SLICED;
    f.what = " log-sum-exp";
    c = tsri_case_attention_add(list, &f);
    c->want = 2;
    for (int chunks = 0; chunks < 2; chunks++) { /* they leave the other queries alone */
        const form several = {1, 9, 300, 4, 2, 8, 8, 0, 0, 0, 0, {0}, {0}, ", chunks"};
        c = tsri_case_attention_add_as(list, "some queries NaN", chunks ? &several : &plain);
        c->in[0].fill = TSRI_CASE_SOME_NAN;
        c->in[0].low = 0.1;
        c->want = 2;
    }
    f = cached;
    for (int i = 0; i < 4;
         i++) { /* the dtypes in which a session may keep keys and values; 2 and 40 queries */
        const form prefill = {2, 40, 67, 6, 2, 36, 20, 1, 0, 2, 2, {27, 3}, {67, 43}, ""};
        f = i % 2 ? prefill : cached;
        f.what = i < 2 ? " f16" : " bf16";
        c = tsri_case_attention_add(list, &f);
        c->in[1].dtype = c->in[2].dtype = i < 2 ? TSR_F16 : TSR_BF16;
    }
    f = cached;
    f.what = " all scores negative"; /* a mask of 0 instead of -inf would win */
    c = tsri_case_attention_add(list, &f);
    c->in[0].low = 0.5, c->in[1].low = -1, c->in[1].high = -0.5;
    f.what = " scores beyond exp's range";
    c = tsri_case_attention_add(list, &f);
    c->in[0].low = -60, c->in[0].high = 60;
    tsri_case_attention_bound(c, f.S, f.D, 60 * sqrt((double)f.D));
    f.what = " equal scores, integer values";
    c = tsri_case_attention_add(list, &f);
    c->attrs.attention.scale = 0x1p-1f;
    c->in[0].fill = TSRI_CASE_EQUAL, c->in[1].fill = TSRI_CASE_EQUAL;
    c->in[2].fill = TSRI_CASE_INTEGER;
    c->in[2].low = 1, c->in[2].high = 64;
    tsri_case_attention_bound(
        c, f.S, 0, 0); /* every score is exact and every exponential 1: the mean remains */
    tsri_case_reason(c, "(2 S + 32) u sum p|v|: all scores are exact and equal, so this is the "
                        "mean of the visible values");
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
        tsri_case *c = tsri_case_attention_add(list, &forms[i]);
        c->most[2] = 600;
        c->want = i % 2 ? 0 : 2;
        c->in[1].dtype = c->in[2].dtype = i % 2 ? TSR_F16 : TSR_F32;
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
            tsri_case *c = tsri_case_attention_add(list, &f);
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
        tsri_case_attention_add(list, &rows[i])->edge = true;
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
        tsri_case_attention_add(list, &forms[i]);
    add_variants(list);
    add_biases(list);
    add_relative(list);
    add_ends(list);
    add_models(list);
    add_one_chunk(list);
    tsri_cases_attention_with(list);
    add_timed(list);
}
