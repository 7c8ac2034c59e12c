/* cases/attention/qkv_append.c - the cases of qkv_append. Both whole states are compared, and the
 * queries. */
#include "cases/attention/attention.h"

typedef struct form {
    int64_t B, T, slots, capacity, H, G, D, Dv;
    uint32_t rotary, interleaved;
    int32_t past[3], len[3];
    const char *what;
} form;

/* Values are copied. For queries and keys, an angle position * inv_freq is rounded once, off by u A
 * for angles up to A = 40; cos and sin are within 4 ulp; then two products and a sum, of |x| <= 1.
 */
static tsri_case *add(tsri_case_list *list, const form *f) {
    tsri_case *c = tsri_case_add(
        list, TSR_OP_QKV_APPEND,
        "B=%lld T=%lld capacity=%lld H=%lld/%lld D=%lld/%lld rotary=%u%s%s", (long long)f->B,
        (long long)f->T, (long long)f->capacity, (long long)f->H, (long long)f->G, (long long)f->D,
        (long long)f->Dv, f->rotary, f->interleaved ? " interleaved" : "", f->what);
    tsri_case_in(c, 0, TSR_KIND_STATE, TSR_F32, 4, TSRI_CASE_K(f->slots), TSRI_CASE_K(f->G),
                 TSRI_CASE_K(f->capacity), TSRI_CASE_K(f->D));
    tsri_case_in(c, 1, TSR_KIND_STATE, TSR_F32, 4, TSRI_CASE_K(f->slots), TSRI_CASE_K(f->G),
                 TSRI_CASE_K(f->capacity), TSRI_CASE_K(f->Dv));
    tsri_case_in(c, 2, TSR_KIND_INPUT, TSR_F32, 4, TSRI_CASE_B, TSRI_CASE_T, TSRI_CASE_K(f->G),
                 TSRI_CASE_K(f->D));
    tsri_case_in(c, 3, TSR_KIND_INPUT, TSR_F32, 4, TSRI_CASE_B, TSRI_CASE_T, TSRI_CASE_K(f->G),
                 TSRI_CASE_K(f->Dv));
    tsri_case_ints(c, 4, TSRI_CASE_B, (int)f->B, f->past);
    tsri_case_ints(c, 5, TSRI_CASE_B, (int)f->B, f->len);
    if (f->H) {
        tsri_case_in(c, 7, TSR_KIND_INPUT, TSR_F32, 4, TSRI_CASE_B, TSRI_CASE_T, TSRI_CASE_K(f->H),
                     TSRI_CASE_K(f->D));
        tsri_case_operand *positions =
            tsri_case_in(c, 8, TSR_KIND_INPUT, TSR_I32, 2, TSRI_CASE_B, TSRI_CASE_T);
        positions->fill = TSRI_CASE_INTEGER;
        positions->low = 0, positions->high = 40;
        tsri_case_operand *inv_freq =
            tsri_case_in(c, 9, TSR_KIND_WEIGHT, TSR_F32, 1, TSRI_CASE_K(f->rotary / 2));
        inv_freq->fill = TSRI_CASE_POWERS;
        inv_freq->high = 10000;
        c->want = 1;
        c->bound[0].absolute = c->bound[2].absolute = 2 * (40 + 12) * TSRI_CASE_U;
    }
    c->sizes[0] = f->B;
    c->sizes[1] = f->T;
    c->attrs.rope = (tsr_rope_attrs){
        .struct_size = sizeof c->attrs.rope, .rotary = f->rotary, .interleaved = f->interleaved};
    c->reads_state = true;
    c->sparse = true;
    tsri_case_reason(c, "values exact; queries and keys 2 (A + 12) u, angles up to A = 40, and a "
                        "rounding to the state's dtype");
    return c;
}

/* A rotated key is at most sqrt 2, so a step of its block at most that over 127; a number near the middle
 * of two may become either. Values hold the integers. */
static tsri_case *in_blocks(tsri_case *c) {
    c->in[0].dtype = c->in[1].dtype = TSR_GGML_Q8_0;
    c->in[3].fill = TSRI_CASE_STEPS;
    c->bound[0].relative = c->bound[1].relative = 0x1p-10;
    c->bound[0].absolute += 1.42 / 127;
    tsri_case_reason(c, "values 2^-10: their scales are rounded to f16, and their integers are the "
                        "same; keys up to sqrt 2, of which a step more or less is 1/127");
    return c;
}

/* cos and sin are multiplied by the magnitude, so every error is; the rounding of these products is within
 * the 12 u. */
static void magnify(tsri_case *c) {
    c->attrs.rope.magnitude = 1.25f;
    c->bound[0].absolute *= 1.25;
    c->bound[2].absolute *= 1.25;
    tsri_case_reason(
        c, "values exact (2^-10 of blocks); queries and keys 1.25 times what they are off "
           "by without the magnitude: a rounding, or a step of a block");
}

void tsri_cases_qkv_append(tsri_case_list *list) {
    static const form forms[] = {
        {2, 5, 2, 12, 4, 2, 16, 16, 16, 0, {0, 4}, {5, 9}, ""},
        {1, 1, 1, 1, 1, 1, 2, 1, 2, 0, {0}, {1}, " one"},
        {1, 1, 3, 40, 6, 3, 64, 64, 64, 0, {39}, {40}, " decode"},
        {3, 5, 3, 16, 6, 3, 34, 7, 34, 0, {0, 9, 2}, {2, 14, 2}, " shorter sequences"},
        {2, 4, 2, 6, 2, 2, 80, 33, 36, 0, {4, 0}, {8, 4}, " past the capacity, part of the head"},
        {2, 3, 2, 8, 5, 1, 20, 20, 12, 1, {1, 5}, {4, 8}, " part of the head"},
        {1, 17, 1, 20, 2, 2, 128, 128, 128, 1, {3}, {20}, ""},
        {2, 0, 2, 4, 1, 1, 4, 4, 4, 0, {0, 0}, {0, 0}, " nothing"},
        {2, 3, 2, 8, 0, 2, 65, 64, 0, 0, {1, 5}, {4, 8}, " no rotation"},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        add(list, &forms[i]);
    for (int rotated = 0; rotated < 2; rotated++) {
        const form f = {2,
                        3,
                        4,
                        8,
                        rotated ? 4 : 0,
                        2,
                        32,
                        16,
                        rotated ? 32 : 0,
                        0,
                        {1, 5},
                        {4, 8},
                        " slots, wider rows"};
        tsri_case *c = add(list, &f);
        tsri_case_ints(c, 6, TSRI_CASE_B, 2, (const int32_t[]){3, 1});
        c->in[2].view = c->in[3].view = TSRI_CASE_SLICED;
        if (rotated)
            c->in[7].view = TSRI_CASE_SLICED;
    }
    for (int i = 0; i < 2; i++) {
        form f = forms[0];
        f.what = i ? " bf16" : " f16";
        tsri_case *c = add(list, &f);
        c->in[0].dtype = c->in[1].dtype = i ? TSR_BF16 : TSR_F16;
        c->bound[0].absolute += i ? 0x1p-8 : 0x1p-11; /* may round to the other neighbour */
    }
    static const form blocks[] = {
        {2, 5, 2, 12, 4, 2, 64, 32, 64, 0, {0, 4}, {5, 9}, " q8_0"},
        {1, 1, 3, 40, 6, 3, 96, 64, 40, 1, {39}, {40}, " q8_0, part of the head"},
        {2, 3, 2, 8, 0, 2, 32, 128, 0, 0, {1, 5}, {4, 8}, " q8_0, no rotation"},
    };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        in_blocks(add(list, &blocks[i]));
    for (size_t i = 0; i < 2; i++) { /* the halves, then interleaved; as f32 and in blocks */
        form f = i ? forms[5] : forms[0];
        f.what = " magnitude 1.25";
        magnify(add(list, &f));
        f = blocks[i];
        f.what = " q8_0, magnitude 1.25";
        magnify(in_blocks(add(list, &f)));
    }
    static const form pages[] = {
        {2, 5, TSRI_CASE_PAGES, 32, 4, 2, 32, 64, 32, 0, {30, 63}, {35, 66}, " pages"},
        {2, 40, TSRI_CASE_PAGES, 64, 0, 2, 32, 32, 0, 0, {60, 0}, {100, 38}, " pages"},
        {2, 3, TSRI_CASE_PAGES, 32, 4, 1, 64, 32, 64, 1, {94, 31}, {97, 34}, " past the pages"},
    };
    for (size_t i = 0; i < 2 * sizeof pages / sizeof *pages; i++) {
        tsri_case *c = add(list, &pages[i / 2]);
        tsri_case_pages(c, 10, 2, 3);
        if (i % 2 == 0)
            continue;
        c->in[0].dtype = c->in[1].dtype = TSR_F16;
        c->bound[0].absolute += 0x1p-11;
    }
    static const form models[] = {
        {1, 1, 1, 1024, 32, 4, 64, 64, 64, 0, {1023}, {1024}, " a token"},
        {1, 512, 1, 1024, 32, 4, 64, 64, 64, 0, {0}, {512}, " a prompt"},
        {1, 512, 1, 1024, 0, 12, 64, 64, 0, 0, {0}, {512}, " a prompt, no rotation"},
    };
    for (size_t i = 0; i < 2 * sizeof models / sizeof *models; i++) {
        tsri_case *c = add(list, &models[i / 2]);
        c->in[0].dtype = c->in[1].dtype = i % 2 ? TSR_F16 : TSR_F32;
        c->timed = true;
    }
}
