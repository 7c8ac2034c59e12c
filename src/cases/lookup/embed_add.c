/* cases/lookup/embed_add.c - the cases of embed_add. */
#include "cases/cases.h"

#include <math.h>
#include <stdio.h>

typedef struct form {
    int64_t T, V, C;
    float scale;
    double beta; /* below 0: missing */
    const char *what;
} form;

/* A row that an id names is a sum of up to N = 2 T terms and the row's old contents times beta. In
 * the other rows, the product with beta is rounded once. */
static tsri_case *add(tsri_case_list *list, const form *f) {
    char beta[32] = "";
    if (f->beta >= 0)
        snprintf(beta, sizeof beta, " beta %g", f->beta);
    tsri_case *c = tsri_case_add(list, TSR_OP_EMBED_ADD, "B=2 T=%lld V=%lld C=%lld scale %g%s%s",
                                 (long long)f->T, (long long)f->V, (long long)f->C,
                                 f->scale == 0 ? 1.0 : (double)f->scale, beta, f->what);
    tsri_case_in(c, 0, TSR_KIND_STATE, TSR_F32, 2, TSRI_CASE_K(f->V), TSRI_CASE_K(f->C))->absolute =
        true;
    tsri_case_operand *ids =
        tsri_case_in(c, 1, TSR_KIND_INPUT, TSR_I32, 2, TSRI_CASE_B, TSRI_CASE_T);
    ids->fill = TSRI_CASE_INTEGER;
    ids->low = 0, ids->high = (double)(f->V - 1);
    tsri_case_in(c, 2, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_B, TSRI_CASE_T, TSRI_CASE_K(f->C))
        ->absolute = true;
    if (f->beta >= 0) {
        tsri_case_operand *factor = tsri_case_in(c, 3, TSR_KIND_INPUT, TSR_F32, 1, TSRI_CASE_K(1));
        factor->fill = TSRI_CASE_EQUAL;
        factor->low = f->beta;
    }
    c->sizes[0] = 2;
    c->sizes[1] = f->T;
    c->reads_state = true;
    c->attrs.embed_add =
        (tsr_embed_attrs){.struct_size = sizeof c->attrs.embed_add, .scale = f->scale};
    c->term_attrs = c->attrs;
    c->bound[0].terms = (double)(2 * f->T + 3) * TSRI_CASE_U;
    c->bound[0].absolute = TSRI_CASE_TINY;
    tsri_case_reason(c, "(N + 3) u (beta|state| + scale sum|dy|), N = %lld", (long long)(2 * f->T));
    return c;
}

void tsri_cases_embed_add(tsri_case_list *list) {
    static const form forms[] = {
        {5, 131, 48, 0, 1, ""},        {1, 7, 1, 0, 0, ""},        {9, 65, 63, 8.5f, -1, ""},
        {40, 3, 65, 0, 0.5, ""},       {33, 2, 257, 0.25f, 0, ""}, {67, 65, 128, 0, -1, ""},
        {130, 1, 64, 0, 1, " one id"}, {8, 1031, 16, 2, 0.75, ""}, {7, 300, 20, 0, 0, ""},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        add(list, &forms[i])->sparse = forms[i].beta == 0;
    for (uint32_t padding = 1; padding <= 7; padding += 3) {
        tsri_case *fixed = add(list, &(form){20, 7, 17, 0, 0.5, ", one id is padding"});
        fixed->attrs.embed_add.padding = fixed->term_attrs.embed_add.padding = padding;
    }
    tsri_case *c = add(list, &(form){6, 40, 33, 0, 0, ", state of NaN"});
    c->in[0].fill = TSRI_CASE_EQUAL;
    c->in[0].low = NAN;
    c->in[0].absolute = false;
    c->sparse = true;
    add(list, &(form){0, 16, 16, 0, -1, ", no tokens"});
    add(list, &(form){0, 16, 16, 0, 0.5, ", no tokens"});
    c = add(list, &(form){9, 30, 17, 0, 1, ", ids outside the table"});
    c->in[1].low = -3, c->in[1].high = 33;
    c = add(list, &(form){6, 11, 40, 0, 1, ", dy from wider rows"});
    c->in[2].view = TSRI_CASE_SLICED;
    add(list, &(form){256, 32000, 768, 0, -1, ""})->timed = true;
}
