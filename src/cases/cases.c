/* cases/cases.c - how a list of cases is built. */
#include "cases/cases.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tsri_case *tsri_case_add(tsri_case_list *list, tsr_op_id op, const char *format, ...) {
    if (list->status == TSR_OK)
        list->status = tsri_base_grow(&list->cases, &list->room, list->n + 1, sizeof *list->cases);
    tsri_case *c = list->status == TSR_OK ? &list->cases[list->n++] : &list->spare;
    *c = (tsri_case){.op = op, .sizes = {1, 1, 1, 1, 1}};
    va_list args;
    va_start(args, format);
    vsnprintf(c->name, sizeof c->name, format, args);
    va_end(args);
    return c;
}

tsri_case_operand *tsri_case_in(tsri_case *c, int i, tsr_kind kind, tsr_dtype dtype, uint32_t rank,
                                ...) {
    tsri_case_operand *operand = &c->in[i];
    *operand = (tsri_case_operand){
        .present = true, .kind = kind, .dtype = dtype, .rank = rank, .low = -1, .high = 1};
    va_list dims;
    va_start(dims, rank);
    for (uint32_t d = 0; d < rank; d++)
        operand->dim[d] = va_arg(dims, tsr_dim);
    va_end(dims);
    if (c->n_in <= (uint32_t)i)
        c->n_in = (uint32_t)i + 1;
    return operand;
}

void tsri_case_ints(tsri_case *c, int i, tsr_dim n, int count, const int32_t *values) {
    tsri_case_operand *operand = tsri_case_in(c, i, TSR_KIND_INPUT, TSR_I32, 1, n);
    operand->fill = TSRI_CASE_LIST;
    operand->n_list = count;
    memcpy(operand->list, values, (size_t)count * sizeof *values);
}

void tsri_case_reason(tsri_case *c, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(c->reason, sizeof c->reason, format, args);
    va_end(args);
}

static tsr_status list_all(tsr_op_id op, tsri_case_list *list) {
    static const struct {
        tsr_op_id id;
        void (*cases)(tsri_case_list *list);
    } rows[] = {
#define X(id, name, attributes) {TSR_OP_##id, tsri_cases_##name},
        TSR_OP_LIST(X)
#undef X
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].id == op) {
            rows[i].cases(list);
            return list->status;
        }
    return tsri_base_fail(TSR_E_UNSUPPORTED, "op number %d has no cases", (int)op);
}

static void keep(tsri_case_list *list, bool timed) {
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++)
        if (list->cases[i].timed == timed)
            list->cases[n++] = list->cases[i];
    list->n = n;
}

tsr_status tsri_cases_of(tsr_op_id op, tsri_case_list *list) {
    TRY(list_all(op, list));
    keep(list, false);
    return TSR_OK;
}

/* The number of elements of all operands. */
static double elements(const tsri_case *c) {
    double sum = 0;
    for (uint32_t i = 0; i < c->n_in; i++) {
        double n = c->in[i].present;
        for (uint32_t d = 0; d < c->in[i].rank; d++)
            n *= (double)tsri_tensor_value(c->in[i].dim[d], c->sizes);
        sum += n;
    }
    return sum;
}

tsr_status tsri_cases_timed(tsr_op_id op, tsri_case_list *list) {
    TRY(list_all(op, list));
    bool any = false;
    size_t largest = 0;
    for (size_t i = 0; i < list->n; i++) {
        any |= list->cases[i].timed;
        if (elements(&list->cases[i]) > elements(&list->cases[largest]))
            largest = i;
    }
    if (list->n && !any)
        list->cases[largest].timed = true;
    keep(list, true);
    for (size_t i = 0; i < list->n; i++) /* nothing is compared, so states need no copy */
        list->cases[i].reads_state = false;
    return TSR_OK;
}
