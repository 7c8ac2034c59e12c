/* cases/attention/attention_with.c - the cases of attention over several chunks of keys, with narrower products,
 * soft caps and sinks, each with some of its other operands: slots, sources, a bias. */
#include "cases/attention/attention.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef tsri_case_attention_form form;

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

/* Any numbers whose products are in f16 or bf16: queries, keys, values and exponentials are rounded, and each
 * score is off by 2.01 of that; half may count small ones as 0. */
static void add_rounding(tsri_case *c, tsr_compute compute, double score) {
    const bool half = compute == TSR_COMPUTE_F16;
    c->attrs.attention.compute = compute;
    c->bound[0].terms += 2.02 * (half ? 0x1p-11 : 0x1p-8) * (1 + 2 * score);
    c->bound[0].absolute += half ? 0x1p-14 * (2 + 4 * score) : 0;
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
        tsri_case *c = tsri_case_attention_add(list, &f);
        c->attrs.attention.soft_cap = rows[i].cap;
        c->in[0].low = -5, c->in[0].high = 5;
        add_operand(c, rows[i].with, &f);
        tsri_case_attention_bound(c, f.S, f.D + 4,
                                  5 * sqrt((double)f.D) + (rows[i].with == RELATIVE));
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
        const double score = sqrt((double)f->D);
        tsri_case *c = tsri_case_attention_add(list, f);
        tsri_case_attention_bound(c, f->S, f->D + 4, score);
        add_operand(c, f->S > 256 ? SLOTS : PLAIN, f);
        c->attrs.attention.soft_cap = 2;
        add_rounding(c, half ? TSR_COMPUTE_F16 : TSR_COMPUTE_BF16, score);
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
        tsri_case *c = tsri_case_attention_add_as(list, "sinks", &f);
        const double score = sqrt((double)f.D);
        tsri_case_operand *sinks = tsri_case_in(c, 9, i % 2 ? TSR_KIND_INPUT : TSR_KIND_WEIGHT,
                                                TSR_F32, 1, TSRI_CASE_K(f.H));
        sinks->low = -3, sinks->high = 3;
        add_operand(c, rows[i].with, &f);
        tsri_case_attention_bound(c, f.S + 2, f.D + 2, score > 3 ? score : 3);
        c->term_attrs.attention.compute = rows[i].compute;
        if (rows[i].compute)
            add_rounding(c, rows[i].compute, score);
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
        tsri_case *c = tsri_case_attention_add_as(list, "chunks", &f);
        c->in[1].dtype = c->in[2].dtype = rows[i].dtype;
        add_operand(c, rows[i].with, &f);
        if (rows[i].with == MASK)
            c->want = 2;
        if (rows[i].with == RELATIVE)
            tsri_case_attention_bound(c, f.S, f.D, sqrt((double)f.D) + 1);
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
        tsri_case *c = tsri_case_attention_add_as(list, "q8_0", &f);
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
        tsri_case *c = tsri_case_attention_add_as(list, half ? "f16" : "bf16", &f);
        c->attrs.attention.scale = 0x1p-3f;
        for (int k = 0; k < 3; k++) {
            c->in[k].fill = TSRI_CASE_INTEGER;
            c->in[k].low = k < 2 ? -2 : -8, c->in[k].high = k < 2 ? 2 : 8;
        }
        c->in[1].dtype = c->in[2].dtype = dtypes[i % 3];
        add_operand(c, rows[i].with, &f);
        tsri_case_attention_bound(c, f.S, f.D, (double)f.D / 2 + 1);
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
    for (int i = 0; i < 2; i++) {
        form f = {2, 40, 67, 6, 2, 64, 64, 1, 0, 2, 2, {27, 3}, {67, 43}, ""};
        const double score = sqrt((double)f.D);
        f.what = i ? " bf16, any numbers" : " f16, any numbers";
        tsri_case *c = tsri_case_attention_add(list, &f);
        add_rounding(c, i ? TSR_COMPUTE_BF16 : TSR_COMPUTE_F16, score);
        tsri_case_reason(c,
                         "2.02 r (1 + 2 max|score|) + what f32 rounds, r = %s: q, k, v and the "
                         "exponentials are rounded%s",
                         i ? "2^-8" : "2^-11", i ? "" : "; what half may count as 0");
    }
}

/* The pages of all sequences, in no order, out of 17. */
void tsri_case_pages(tsri_case *c, int operand, int64_t B, int64_t pages) {
    tsri_case_operand *x =
        tsri_case_in(c, operand, TSR_KIND_INPUT, TSR_I32, 2, TSRI_CASE_B, TSRI_CASE_K(pages));
    x->fill = TSRI_CASE_LIST;
    x->n_list = (int)(B * pages);
    for (int i = 0; i < x->n_list; i++)
        x->list[i] = (i * 7 + 3) % TSRI_CASE_PAGES;
}

/* Keys and values in pages [G,page,D]: lengths of whole pages, one fewer and one more, few queries and many
 * on both sides of a border, several chunks, a window that begins in a later page, a page that two sequences
 * share. */
static void add_pages(tsri_case_list *list) {
    static const struct {
        form form;
        int64_t page;
        tsr_dtype dtype;
        int with;
        tsr_compute compute;
    } rows[] = {
        {{2, 1, 96, 4, 2, 16, 16, 1, 0, 2, 2, {30, 31}, {31, 32}, ""}, 32, TSR_F32, PLAIN, 0},
        {{2, 1, 96, 8, 1, 64, 64, 1, 0, 2, 2, {32, 95}, {33, 96}, ""}, 32, TSR_F16, PLAIN, 0},
        {{2, 3, 96, 4, 2, 32, 64, 1, 0, 2, 2, {30, 63}, {33, 66}, ""}, 32, TSR_GGML_Q8_0, PLAIN, 0},
        {{2, 40, 96, 6, 2, 36, 20, 1, 0, 2, 2, {0, 50}, {40, 90}, ""}, 32, TSR_F32, LSE, 0},
        {{2, 70, 128, 4, 2, 48, 32, 1, 40, 2, 2, {45, 11}, {115, 81}, " window 40"},
         64,
         TSR_F16,
         PLAIN,
         0},
        {{1, 1, 320, 8, 1, 64, 64, 1, 0, 1, 1, {319}, {320}, " chunks"}, 32, TSR_F32, PLAIN, 0},
        {{2, 2, 384, 8, 2, 64, 64, 1, 0, 2, 2, {380, 255}, {382, 257}, " chunks"},
         64,
         TSR_GGML_Q8_0,
         PLAIN,
         0},
        {{2, 9, 512, 4, 4, 32, 64, 1, 0, 2, 2, {500, 250}, {509, 259}, " chunks"},
         256,
         TSR_F16,
         PLAIN,
         0},
        {{1, 70, 384, 4, 2, 32, 32, 1, 260, 1, 1, {300}, {370}, " window 260"},
         64,
         TSR_GGML_Q8_0,
         LSE,
         0},
        {{2, 1, 512, 8, 1, 5, 7, 1, 100, 2, 2, {500, 30}, {501, 31}, " window 100, odd"},
         64,
         TSR_F32,
         LSE,
         0},
        {{2, 5, 96, 4, 2, 16, 16, 1, 0, 2, 2, {60, 27}, {65, 32}, " relative"},
         32,
         TSR_F32,
         RELATIVE,
         0},
        {{2, 2, 96, 8, 2, 64, 64, 1, 0, 2, 2, {62, 30}, {64, 32}, " f16"},
         32,
         TSR_F16,
         PLAIN,
         TSR_COMPUTE_F16},
        {{2, 40, 96, 6, 2, 64, 64, 1, 0, 2, 2, {50, 3}, {90, 43}, " bf16"},
         32,
         TSR_F32,
         PLAIN,
         TSR_COMPUTE_BF16},
        {{2, 3, 320, 4, 1, 32, 64, 1, 0, 2, 2, {317, 253}, {320, 256}, " bf16 chunks"},
         64,
         TSR_F32,
         PLAIN,
         TSR_COMPUTE_BF16},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const form f = rows[i].form;
        tsri_case *c = tsri_case_attention_add_as(list, "pages", &f);
        for (int k = 1; k < 3; k++) {
            c->in[k].kind = TSR_KIND_STATE;
            c->in[k].dtype = rows[i].dtype;
            c->in[k].view = TSRI_CASE_SWAPPED;
            c->in[k].dim[0] = TSRI_CASE_K(TSRI_CASE_PAGES);
            c->in[k].dim[1] = TSRI_CASE_K(rows[i].page);
        }
        add_operand(c, rows[i].with, &f);
        tsri_case_pages(c, 10, f.B, f.S / rows[i].page);
        if (i % 2 && f.B > 1) /* the first page of both sequences */
            c->in[10].list[f.S / rows[i].page] = c->in[10].list[0];
        if (rows[i].with == RELATIVE)
            tsri_case_attention_bound(c, f.S, f.D, sqrt((double)f.D) + 1);
        if (rows[i].compute)
            add_rounding(c, rows[i].compute, sqrt((double)f.D));
    }
}

void tsri_cases_attention_with(tsri_case_list *list) {
    add_chunks(list);
    add_blocks(list);
    add_narrow(list);
    add_soft_caps(list);
    add_sinks(list);
    add_pages(list);
}
