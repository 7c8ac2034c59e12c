/* cases/attention/kv_append.c - the cases of kv_append. The whole state is compared: rows that must
 * not be written still hold what they held. */
#include "cases/attention/attention.h"

static tsri_case *add(tsri_case_list *list, int64_t B, int64_t T, int64_t slots, int64_t capacity,
                      int64_t G, int64_t D, const int32_t *past, const int32_t *len,
                      const char *what) {
    tsri_case *c = tsri_case_add(
        list, TSR_OP_KV_APPEND, "B=%lld T=%lld state [%lld,%lld,%lld,%lld]%s", (long long)B,
        (long long)T, (long long)slots, (long long)G, (long long)capacity, (long long)D, what);
    tsri_case_in(c, 0, TSR_KIND_STATE, TSR_F32, 4, TSRI_CASE_K(slots), TSRI_CASE_K(G),
                 TSRI_CASE_K(capacity), TSRI_CASE_K(D));
    tsri_case_in(c, 1, TSR_KIND_INPUT, TSR_F32, 4, TSRI_CASE_B, TSRI_CASE_T, TSRI_CASE_K(G),
                 TSRI_CASE_K(D));
    tsri_case_ints(c, 2, TSRI_CASE_B, (int)B, past);
    tsri_case_ints(c, 3, TSRI_CASE_B, (int)B, len);
    c->sizes[0] = B;
    c->sizes[1] = T;
    c->reads_state = true;
    c->sparse = true;
    tsri_case_reason(c, "exact: rows are copied, the others stay unchanged");
    return c;
}

void tsri_cases_kv_append(tsri_case_list *list) {
    add(list, 2, 3, 2, 8, 2, 4, (const int32_t[]){0, 4}, (const int32_t[]){3, 7}, "");
    add(list, 1, 1, 1, 1, 1, 1, (const int32_t[]){0}, (const int32_t[]){1}, " one");
    add(list, 3, 5, 3, 16, 3, 7, (const int32_t[]){0, 9, 2}, (const int32_t[]){2, 14, 2},
        " shorter sequences");
    add(list, 2, 4, 2, 6, 2, 16, (const int32_t[]){4, 0}, (const int32_t[]){8, 4},
        " past the capacity");
    add(list, 2, 0, 2, 4, 1, 4, (const int32_t[]){0, 0}, (const int32_t[]){0, 0}, " nothing");
    tsri_case *c =
        add(list, 2, 3, 4, 8, 2, 65, (const int32_t[]){1, 5}, (const int32_t[]){4, 8}, " slots");
    tsri_case_ints(c, 4, TSRI_CASE_B, 2, (const int32_t[]){3, 1});
    for (int i = 0; i < 2; i++) { /* halves round to nearest even, as the reference does */
        c = add(list, 2, 5, 2, 11, 3, 20, (const int32_t[]){0, 4}, (const int32_t[]){5, 9},
                i ? " bf16" : " f16");
        c->in[0].dtype = i ? TSR_BF16 : TSR_F16;
    }
    static const int64_t sizes[] = {32, 96};
    for (int i = 0; i < 2; i++) { /* x holds the integers that its blocks are quantised to */
        c = add(list, 2, 5, 2, 11, 3, sizes[i], (const int32_t[]){0, 4}, (const int32_t[]){5, 9},
                " q8_0");
        c->in[0].dtype = TSR_GGML_Q8_0;
        c->in[1].fill = TSRI_CASE_STEPS;
        c->bound[0].relative = 0x1p-10;
        tsri_case_reason(c, "2^-10 |x|: a scale is rounded to f16, its quotient on a device may be "
                            "off by 3 ulp; the integers are the same");
    }
    c = add(list, 1, 3, 1, 3, 1, 32, (const int32_t[]){0}, (const int32_t[]){3},
            " q8_0, subnormal scales");
    c->in[0].dtype = TSR_GGML_Q8_0;
    c->in[1].low = -1.4 * 127 * 0x1p-24, c->in[1].high = 1.4 * 127 * 0x1p-24;
    c->bound[0].absolute = 0x1p-23;
    tsri_case_reason(
        c, "2^-23, a step: a scale of 1.4 * 2^-24 is rounded up to 2 * 2^-24, because with "
           "2^-24 the largest numbers would be cut off");
    c = add(list, 2, 3, 2, 8, 2, 12, (const int32_t[]){0, 4}, (const int32_t[]){3, 7},
            " x from wider rows");
    c->in[1].view = TSRI_CASE_SLICED;
    /* Both sides of a page's border; past the last page, with a sequence that is not written to */
    static const int32_t past[][2] = {{30, 63}, {94, 0}}, len[][2] = {{35, 66}, {99, 0}};
    for (int i = 0; i < 4; i++) {
        c = add(list, 2, 5, TSRI_CASE_PAGES, 32, 3, 32, past[i % 2], len[i % 2],
                i < 2 ? " pages" : " pages, q8_0");
        tsri_case_pages(c, 5, 2, 3);
        if (i < 2)
            continue;
        c->in[0].dtype = TSR_GGML_Q8_0;
        c->in[1].fill = TSRI_CASE_STEPS;
        c->bound[0].relative = 0x1p-10;
    }
    add(list, 1, 512, 1, 1024, 12, 64, (const int32_t[]){0}, (const int32_t[]){512}, " a prompt")
        ->timed = true;
}
