/* The operands and the results of a golden. */
#include "backend/golden.h"

#include "support/direct.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t golden_whole(const golden *g, const char *key) {
    const json_t *value = json_object_get(g->settings, key);
    return json_is_true(value) ? 1 : json_integer_value(value);
}

double golden_real(const golden *g, const char *key) {
    return json_number_value(json_object_get(g->settings, key));
}

const tsri_io_array *golden_find(const golden *g, const char *tensor) {
    char name[128];
    snprintf(name, sizeof name, "%s.%s", g->name, tensor);
    return tsri_io_find(g->archive, name);
}

bool golden_take(golden *g, int i, const char *tensor) {
    const tsri_io_array *array = golden_find(g, tensor);
    if (!array)
        return false;
    const tsr_dtype dtype = array->dtype == TSR_F32 ? TSR_F32 : TSR_I32;
    g->tensor[i] = direct_tensor(dtype, (uint32_t)array->rank, array->dims);
    g->bytes[i] = array->elements * 4;
    g->data[i] = malloc(g->bytes[i] + 1);
    cr_assert_eq(tsri_io_read_as(g->archive, array, dtype, 0, array->elements, g->data[i]), TSR_OK,
                 "%s", tsr_error_last());
    return true;
}

void golden_take_list(golden *g, int i, const char *key) {
    const json_t *list = json_object_get(g->settings, key);
    if (!list)
        return;
    const int64_t n = (int64_t)json_array_size(list);
    int32_t *values = malloc((size_t)n * 4);
    for (int64_t k = 0; k < n; k++)
        values[k] = (int32_t)json_integer_value(json_array_get(list, (size_t)k));
    g->tensor[i] = direct_tensor(TSR_I32, 1, &n);
    g->data[i] = values;
    g->bytes[i] = (size_t)n * 4;
}

void golden_take_keep(golden *g, int i, const tsr_tensor *like) {
    if (!golden_take(g, i, "keep"))
        return;
    float *bias = g->data[i];
    for (size_t k = 0; k < g->bytes[i] / 4; k++) {
        int32_t keep;
        memcpy(&keep, (char *)g->data[i] + 4 * k, 4);
        bias[k] = keep ? 0.0f : -INFINITY;
    }
    g->tensor[i].dtype = TSR_F32;
    for (uint32_t d = 0; d < g->tensor[i].rank; d++)
        if (g->tensor[i].dim[d].factor == 1) {
            g->tensor[i].dim[d] = like->dim[d];
            g->tensor[i].stride[d] = tsri_tensor_const(0);
        }
}

void golden_compare(golden *g, tsr_op_id id, const void *attrs, uint32_t n_in, const char *result,
                    double slack) {
    const tsri_io_array *array = golden_find(g, result);
    float *want = malloc(array->bytes + 1), *got = g->data[n_in];
    cr_assert_eq(tsri_io_read_as(g->archive, array, TSR_F32, 0, array->elements, want), TSR_OK);
    for (uint64_t i = 0; i < array->elements; i++)
        got[i] = NAN;
    cr_assert_eq(direct_run(id, attrs, n_in, 1, g->tensor, g->data, g->bytes), TSR_OK, "%s %s: %s",
                 g->op, g->name, tsr_error_last());
    double largest = 0;
    for (uint64_t i = 0; i < array->elements; i++)
        largest = fmax(largest, fabs((double)want[i]));
    for (uint64_t i = 0; i < array->elements; i++) {
        const double error = fabs((double)got[i] - want[i]),
                     bound = 0x1p-23 * fabs((double)want[i]) + slack * largest + 1e-44;
        cr_expect(error <= bound, "%s %s [%llu]: %.9g for %.9g", g->op, g->name,
                  (unsigned long long)i, got[i], want[i]);
    }
    free(want);
}

void golden_compare_result(golden *g, const char *op, int i, const char *result, double slack) {
    const tsri_io_array *array = golden_find(g, result);
    cr_assert(array, "%s %s has no %s", g->op, g->name, result);
    float *want = malloc(array->bytes + 1), *got = g->data[i];
    double largest = 0;
    cr_assert_eq(tsri_io_read_as(g->archive, array, TSR_F32, 0, array->elements, want), TSR_OK);
    for (uint64_t k = 0; k < array->elements; k++)
        largest = fmax(largest, fabs((double)want[k]));
    for (uint64_t k = 0; k < array->elements; k++) {
        const double error = fabs((double)got[k] - want[k]),
                     bound = 0x1p-23 * fabs((double)want[k]) + slack * largest + 1e-30;
        cr_expect(error <= bound, "%s %s of %s [%llu]: %.9g for %.9g", op, result, g->name,
                  (unsigned long long)k, got[k], want[k]);
    }
    free(want);
}

void golden_run_gradient(golden *g, tsr_op_id id, const void *attrs, uint32_t n_in,
                         uint32_t n_out) {
    cr_assert_eq(direct_run(id, attrs, n_in, n_out, g->tensor, g->data, g->bytes), TSR_OK,
                 "%s %s: %s", g->op, g->name, tsr_error_last());
}

void golden_make_f64(golden *g, int i, uint32_t rank, const int64_t *dims) {
    size_t n = 1;
    for (uint32_t d = 0; d < rank; d++)
        n *= (size_t)dims[d];
    g->tensor[i] = direct_tensor(TSR_F64, rank, dims);
    g->bytes[i] = n * 8;
    g->data[i] = calloc(n + 1, 8);
}

void golden_drop(golden *g) {
    for (int i = 0; i < GOLDEN_OPERANDS; i++) {
        free(g->data[i]);
        g->data[i] = NULL;
    }
}
