/* tests/verify/same_bytes.c - runs kernel variants on cases, and compares the bytes that they give. */
#include "verify/same_bytes.h"

#include "base/error.h"
#include "support/cases.h"
#include "tensor/convert.h"
#include "tensor/operands.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

tsr_status run_variant(const tsri_case *c, tsri_verify_place place, const char *op,
                       const char *variant, tsri_case_values *values) {
    char kernels[TSRI_VERIFY_FORCED];
    tsri_verify_force(op, variant, "", kernels);
    place.kernels = kernels;
    tsr_status status = tsri_case_values_fill(c, false, values);
    if (status == TSR_OK)
        status = tsri_verify_run(c, &c->attrs, &place, values);
    return status;
}

static double value_at(const tsri_case_values *values, int output, size_t i) {
    const size_t size = (size_t)tsri_tensor_dtype_info(values->out_dtype[output])->bytes;
    double value = 0;
    if (values->out_dtype[output] == TSR_I32)
        return ((const int32_t *)values->out[output])[i];
    (void)tsri_tensor_convert(TSR_F64, &value, values->out_dtype[output],
                              (const char *)values->out[output] + i * size, 1);
    return value;
}

void compare_bytes(const tsri_case *c, const char *variant, const tsri_case_values *plain,
                   const tsri_case_values *other) {
    for (int i = 0; i < plain->n_out; i++)
        for (size_t k = 0; k < plain->out_count[i]; k++) {
            const double a = value_at(plain, i, k), b = value_at(other, i, k);
            if (a == b || (isnan(a) && isnan(b)))
                continue;
            cr_expect_fail("%s, %s: output %d[%zu] is %.9g, plain's %.9g", variant, c->name, i, k,
                           b, a);
            return;
        }
}

bool open_selected(tsri_verify_place *place, uint32_t threads) {
    const tsri_backend_options options = {.threads = threads};
    const tsr_device_options device_options = {
        .struct_size = sizeof device_options, .no_self_test = 1, .threads = threads};
    size_t number = 0;
    cr_assert_eq(tsri_backend_set_open(&options, &place->set), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_backend_select(place->set, NULL, 0, &number), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_backend_device_open(place->set, number, &device_options, &place->device),
                 TSR_OK, "%s", tsr_error_last());
    return strcmp(tsri_backend_at(place->set, number)->backend->name, "opencl") == 0;
}

void close_selected(tsri_verify_place *place) {
    tsri_backend_device_close(&place->device);
    tsri_backend_set_close(&place->set);
}

size_t pick_cases(const tsri_case_list *list, const fitting *found, size_t most,
                  const tsri_case *picked[]) {
    const size_t n = found->n < most ? found->n : most;
    const size_t first = n ? cases_turn() % (found->n / n) : 0;
    for (size_t k = 0; k < n; k++)
        picked[k] = &list->cases[found->cases[first + k * found->n / n]];
    return n;
}

void build_ahead(tsri_verify_place place, const char *op, const char *variant,
                 const tsri_case *const *cases, size_t n) {
    char kernels[TSRI_VERIFY_FORCED];
    tsri_verify_force(op, variant, "", kernels);
    place.kernels = kernels;
    (void)tsri_verify_build_ahead(cases, n, &place);
}

bool has_norm(const tsri_case *c) {
    const tsri_tensor_operands *operands = tsri_tensor_operands_of(c->op);
    for (uint32_t i = 0; i < c->n_in; i++)
        if (c->in[i].present && operands->in[i].role == TSRI_TENSOR_ODD)
            return true;
    return false;
}

const char *model_variant(const tsri_case *c) {
    return !has_norm(c)                                  ? "plain"
           : c->attrs.linear.compute == TSR_COMPUTE_INT8 ? "int8_panels"
                                                         : "tiled";
}
