/* cases/slopes.c - the cases of activation_grad, glu and glu_grad, whose bounds depend on the
 * activation and its derivative. */
#include "cases/cases.h"

/* The errors of an activation (value) and of its derivative (slope), relative, of x, and absolute,
 * in units of u. exp is within 4 ulp of an argument with up to 3 roundings (gelu_tanh's;
 * exp(-|u|) |u|^2 is at most 0.6), erf within 16; after them come sums of two parts below 1.2. */
typedef struct within {
    const char *name;
    double value, value_of_x, slope, slope_absolute;
} within;

static const within activations[] = {
    [TSR_ACT_NONE] = {"none", 0, 0, 0, 0},
    [TSR_ACT_RELU] = {"relu", 0, 0, 0, 0},
    [TSR_ACT_GELU] = {"gelu", 8, 16, 8, 32},
    [TSR_ACT_GELU_TANH] = {"gelu_tanh", 8, 16, 8, 48},
    [TSR_ACT_SILU] = {"silu", 16, 0, 8, 32},
    [TSR_ACT_TANH] = {"tanh", 12, 0, 24, 0},
    [TSR_ACT_SIGMOID] = {"sigmoid", 16, 0, 24, 0},
};

enum { LAST = TSR_ACT_SIGMOID };

static void fill_forms(tsri_case_operand *x, int form, double range) {
    x->low = -range, x->high = range;
    x->fill = form == 5 ? TSRI_CASE_EXTREME : form == 6 ? TSRI_CASE_ZEROS : TSRI_CASE_UNIFORM;
}

static const struct {
    int64_t T, C;
    double range;
    const char *what;
} forms[] = {
    {5, 33, 3, ""},      {1, 1, 1, ""},        {2, 512, 12, " wide"},
    {3, 1031, 90, ""},   {0, 7, 1, ""},        {2, 24, 80, " extremes"},
    {2, 5, 0, " zeros"}, {7, 16, 2, " views"}, {512, 2048, 3, ""},
};
enum { N_FORMS = sizeof forms / sizeof *forms }; /* the last is timed */

void tsri_cases_activation_grad(tsri_case_list *list) {
    for (uint32_t act = 0; act <= LAST; act++)
        for (int i = 0; i < N_FORMS; i++) {
            const within *w = &activations[act];
            tsri_case *c =
                tsri_case_add(list, TSR_OP_ACTIVATION_GRAD, "%s [%lld,%lld]%s", w->name,
                              (long long)forms[i].T, (long long)forms[i].C, forms[i].what);
            fill_forms(tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 2, TSRI_CASE_T,
                                    TSRI_CASE_K(forms[i].C)),
                       i, forms[i].range);
            tsri_case_in(c, 1, TSR_KIND_INPUT, TSR_F32, 2, TSRI_CASE_T, TSRI_CASE_K(forms[i].C));
            if (i == 7)
                c->in[0].view = TSRI_CASE_SWAPPED, c->in[1].view = TSRI_CASE_SLICED;
            c->sizes[1] = forms[i].T;
            c->timed = i == N_FORMS - 1;
            c->attrs.activation_grad = (tsr_activation_attrs){
                .struct_size = sizeof c->attrs.activation_grad, .activation = act};
            c->sparse = act == TSR_ACT_RELU || forms[i].range > 12 || i == 6;
            c->bound[0].relative = (w->slope + 2) * TSRI_CASE_U;
            c->bound[0].absolute = w->slope_absolute * TSRI_CASE_U + TSRI_CASE_TINY;
            tsri_case_reason(c, "%g u |dx| + %g u: exp and erf, sums of parts below 1.2",
                             w->slope + 2, w->slope_absolute);
        }
}

enum { N_GATED = 7 }; /* the last is timed */

static tsri_case *add_gated(tsri_case_list *list, tsr_op_id op, uint32_t act, int form) {
    static const int64_t shapes[][2] = {{5, 33}, {1, 1},    {3, 16},    {4, 17},
                                        {0, 8},  {2, 1031}, {256, 2048}};
    const int64_t T = shapes[form][0], F = shapes[form][1];
    tsri_case *c = tsri_case_add(list, op, "%s T=%lld F=%lld%s", activations[act].name,
                                 (long long)T, (long long)F, form == 3 ? " views" : "");
    tsri_case_operand *x = tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_B, TSRI_CASE_T,
                                        TSRI_CASE_K(2 * F));
    x->low = -4, x->high = 4;
    x->view = form == 3 ? TSRI_CASE_SLICED : TSRI_CASE_PACKED;
    c->sizes[0] = T ? 2 : 1;
    c->timed = form == N_GATED - 1;
    c->sizes[1] = T;
    c->attrs.glu = (tsr_activation_attrs){.struct_size = sizeof c->attrs.glu, .activation = act};
    c->sparse = act == TSR_ACT_RELU;
    return c;
}

void tsri_cases_glu(tsri_case_list *list) {
    for (uint32_t act = 0; act <= LAST; act++)
        for (int form = 0; form < N_GATED; form++) {
            const within *w = &activations[act];
            tsri_case *c = add_gated(list, TSR_OP_GLU, act, form);
            c->bound[0].relative = (w->value + 2) * TSRI_CASE_U;
            c->bound[0].absolute = 16 * w->value_of_x * TSRI_CASE_U + TSRI_CASE_TINY;
            tsri_case_reason(c, "the activation's bound times |up|, at most 4; and a product");
        }
}

void tsri_cases_glu_grad(tsri_case_list *list) {
    for (uint32_t act = 0; act <= LAST; act++)
        for (int form = 0; form < N_GATED; form++) {
            const within *w = &activations[act];
            tsri_case *c = add_gated(list, TSR_OP_GLU_GRAD, act, form);
            tsri_case_in(c, 1, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_B, TSRI_CASE_T,
                         TSRI_CASE_K(c->in[0].dim[2].factor / 2));
            c->in[1].view = c->in[0].view;
            c->bound[0].relative = ((w->slope > w->value ? w->slope : w->value) + 4) * TSRI_CASE_U;
            c->bound[0].absolute =
                4 * (w->slope_absolute + w->value_of_x) * TSRI_CASE_U + TSRI_CASE_TINY;
            tsri_case_reason(c, "the bounds of the activation and of its derivative, times |up| "
                                "of at most 4; and two products");
        }
}
