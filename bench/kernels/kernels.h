/* bench/kernels/kernels.h - a worker that times single ops as the engine runs them: as a plan of
 * one op through the backend interface. Weights are stored before; whatever a kernel variant does
 * to its activations counts.
 *
 * ops.c has an entry for each op: how a request becomes operands. The numbers are small whole
 * numbers times a power of two, so that every dtype represents them exactly. Results are compared
 * with those of the kernel variant `plain` on the same device. */
#ifndef BENCH_KERNELS_H
#define BENCH_KERNELS_H

#include "tessera/backend.h"

#include <jansson.h>
#include <stdbool.h>

enum { BENCH_OPERANDS = 12, BENCH_OUTPUTS = 4 };

/* One operand, and the numbers that fill it. */
typedef struct bench_operand {
    tsr_tensor tensor; /* struct_size 0: missing */
    float unit; /* element i is a whole number of -127 .. 127 (of -8 .. 7 for Q4_0), times unit */
    bool peak;  /* the first element of each row is 127 * unit, so that int8 compute is exact */
    int32_t constant; /* the value of every element, for I32 */
} bench_operand;

typedef struct bench_case {
    bench_operand operands[BENCH_OPERANDS]; /* inputs as op.h numbers them, then outputs */
    uint32_t n_in, n_out; /* n_out 0: one output, or none where a state is compared */
    uint32_t
        result; /* which operand is compared: the first output, or a state that the op writes */
    union {
        tsr_matmul_attrs matmul; /* and matmul_add */
        tsr_linear_attrs linear;
        tsr_glu_linear_attrs glu_linear;
        tsr_attention_attrs attention;
    } attrs;
    int64_t sizes[TSR_SYMBOLS];
    double flops; /* of one run; a multiply-add counts as two */
} bench_case;

typedef struct bench_op {
    const char *name;
    tsr_op_id id;
    /* Reads the request; returns a message where it is wrong, else NULL. */
    const char *(*make)(const json_t *request, bench_case *c);
} bench_op;

extern const bench_op bench_ops[]; /* ends with an entry without a name */

/* Fills n elements from i on, a multiple of 32, in the operand's dtype; its rows have this many
 * columns (numbers.c). */
void bench_fill(const bench_operand *operand, uint32_t number, int64_t i, int64_t columns, size_t n,
                void *out);
size_t bench_bytes(uint32_t dtype, int64_t n);
/* NONE for a word that does not name a dtype. */
tsr_dtype bench_dtype(const char *word);

int64_t bench_int(const json_t *request, const char *key, int64_t otherwise);
const char *bench_text(const json_t *request, const char *key, const char *otherwise);

/* The backend, and devices as requests name them (device.c). Each returns a message, or NULL where
 * it succeeded. */
const char *bench_open(const char *plugin);
const char *bench_device(const char *selector, tsr_dev **dev, const char **name);
const char *bench_time(tsr_dev *dev, const bench_op *op, bench_case *c, const json_t *request,
                       json_t *answer);
/* The best of so many measurements (1 to 16) of the peak "fma_f32" or "read", by the backend itself:
 * flops or bytes, in units of 1e9 per second. */
const char *bench_peak(tsr_dev *dev, const char *what, int64_t repeats, double *rate);
void bench_close(void);

#endif
