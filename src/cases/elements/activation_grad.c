/* cases/elements/activation_grad.c - the cases of activation_grad. */
#include "cases/elements/slopes.h"

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
    for (uint32_t act = 0; act <= TSR_ACT_SIGMOID; act++)
        for (int i = 0; i < N_FORMS; i++) {
            const tsri_case_within *w = &tsri_case_activations[act];
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
