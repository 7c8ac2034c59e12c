/* A float64 result of an op, of a folder of goldens: its operands are read, the op runs on the
 * reference, and the results are compared. */
#ifndef TEST_BACKEND_GOLDEN_H
#define TEST_BACKEND_GOLDEN_H

#include "base/json.h"
#include "io/archive.h"
#include "tensor/shape.h"
#include "tessera/op.h"

#include <stdbool.h>

enum { GOLDEN_OPERANDS = 14 };

typedef struct golden {
    const tsri_io_archive *archive;
    const json_t *settings;
    const char *op, *name;
    /* the operands of the run */
    tsr_tensor tensor[GOLDEN_OPERANDS];
    void *data[GOLDEN_OPERANDS];
    size_t bytes[GOLDEN_OPERANDS];
} golden;

int64_t golden_whole(const golden *g, const char *key);
double golden_real(const golden *g, const char *key);
const tsri_io_array *golden_find(const golden *g, const char *tensor);
/* Makes operand i of the golden's tensor, as f32 or i32. False where there is no such tensor. */
bool golden_take(golden *g, int i, const char *tensor);
/* Makes operand i of a list of integers among the settings ("past", "len"), where there is one. */
void golden_take_list(golden *g, int i, const char *key);
/* keep (1 = visible) becomes a bias of 0 or -inf that is broadcast to `like`. */
void golden_take_keep(golden *g, int i, const tsr_tensor *like);
/* Runs the op and compares its output with the golden's tensor `result`. The oracle sums in double,
 * so each side rounds once: 2^-23 |want|. `slack` allows for attributes that are floats (relative
 * to the largest value). */
void golden_compare(golden *g, tsr_op_id id, const void *attrs, uint32_t n_in, const char *result,
                    double slack);
/* Compares one result of a gradient op, which has several. */
void golden_compare_result(golden *g, const char *op, int i, const char *result, double slack);
void golden_run_gradient(golden *g, tsr_op_id id, const void *attrs, uint32_t n_in, uint32_t n_out);
/* Makes operand i of f64 with this shape, uninitialised. */
void golden_make_f64(golden *g, int i, uint32_t rank, const int64_t *dims);
void golden_drop(golden *g);

#endif
