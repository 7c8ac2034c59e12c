/* cases/elements/slopes.c - the bounds of activation_grad, glu and glu_grad. */
#include "cases/elements/slopes.h"

#include <stdio.h>
#include <string.h>

const tsri_case_within tsri_case_activations[TSR_ACT_SIGMOID + 1] = {
    [TSR_ACT_NONE] = {"none", 0, 0, 0, 0},
    [TSR_ACT_RELU] = {"relu", 0, 0, 0, 0},
    [TSR_ACT_GELU] = {"gelu", 8, 16, 8, 32},
    [TSR_ACT_GELU_TANH] = {"gelu_tanh", 8, 16, 8, 48},
    [TSR_ACT_SILU] = {"silu", 16, 0, 8, 32},
    [TSR_ACT_TANH] = {"tanh", 12, 0, 24, 0},
    [TSR_ACT_SIGMOID] = {"sigmoid", 16, 0, 24, 0},
};

tsri_case *tsri_case_gated(tsri_case_list *list, tsr_op_id op, uint32_t act, int form) {
    static const int64_t shapes[][2] = {{5, 33}, {1, 1},    {3, 16},    {4, 17},
                                        {0, 8},  {2, 1031}, {256, 2048}};
    const int64_t T = shapes[form][0], F = shapes[form][1];
    tsri_case *c = tsri_case_add(list, op, "%s T=%lld F=%lld%s", tsri_case_activations[act].name,
                                 (long long)T, (long long)F, form == 3 ? " views" : "");
    tsri_case_operand *x = tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_B, TSRI_CASE_T,
                                        TSRI_CASE_K(2 * F));
    x->low = -4, x->high = 4;
    x->view = form == 3 ? TSRI_CASE_SLICED : TSRI_CASE_PACKED;
    c->sizes[0] = T ? 2 : 1;
    c->timed = form == TSRI_CASE_GATED - 1;
    c->sizes[1] = T;
    c->attrs.glu = (tsr_activation_attrs){.struct_size = sizeof c->attrs.glu, .activation = act};
    c->sparse = act == TSR_ACT_RELU;
    return c;
}

tsri_case *tsri_case_gated_form(tsri_case_list *list, tsr_op_id op, int form) {
    static const struct {
        tsr_activation act;
        int shape; /* of tsri_case_gated */
        float limit, alpha, shift;
    } forms[TSRI_CASE_FORMS] = {{TSR_ACT_SILU, 0, 2.5f, 1.702f, 1},
                                {TSR_ACT_SILU, 5, 2.5f, 1.702f, 1},
                                {TSR_ACT_SILU, 3, 2, 0, 0},
                                {TSR_ACT_GELU, 2, 0, 0, -0.5f},
                                {TSR_ACT_GELU_TANH, 3, 0, 0.75f, 0}};
    tsri_case *c = tsri_case_gated(list, op, forms[form].act, forms[form].shape);
    const size_t end = strlen(c->name);
    snprintf(c->name + end, sizeof c->name - end, " limit %g alpha %g shift %g",
             (double)forms[form].limit, (double)forms[form].alpha, (double)forms[form].shift);
    c->attrs.glu.limit = forms[form].limit;
    c->attrs.glu.alpha = forms[form].alpha;
    c->attrs.glu.shift = forms[form].shift;
    return c;
}

void tsri_case_bound_form(tsri_case *c) {
    c->bound[0].relative += 7 * TSRI_CASE_U;
    c->bound[0].absolute += 20 * TSRI_CASE_U;
    tsri_case_reason(c,
                     "as without limit, alpha and shift; 7 u and 20 u for rounding alpha g, for a "
                     "division and a sum");
}
