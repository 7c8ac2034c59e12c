/* tests/verify/differences.h - a gradient of the oracle against central differences of its forward
 * op, both in f64: for each operand that is trained, d loss / d element, with loss = sum of
 * dy * y. */
#ifndef TESTS_VERIFY_DIFFERENCES_H
#define TESTS_VERIFY_DIFFERENCES_H

#include "tessera/op.h"
#include "tessera/tensor.h"

#include <stdint.h>

enum { MOST = 10 };

typedef struct operand {
    uint32_t rank;
    int64_t dim[4];
    const int32_t *ints; /* one for each element; NULL: numbers in [-1, 1) */
    double size;         /* the numbers are in [-size, size); 0: 1 */
} operand;

struct state;

/* An op, and how the operands and results of its gradient relate to it. */
typedef struct subject {
    const char *name;
    tsr_op_id forward, gradient;
    const void *attrs, *gradient_attrs;
    operand in[MOST], out[2]; /* rank 0: missing */
    /* The operands of the gradient: a digit is that operand of the forward op, A and B are its
     * results, d is the gradient of result A, s the same as one number for all of it, - a missing
     * operand. */
    const char *operands;
    /* Its results: a digit is the operand whose gradient it is (the sum of its parts, if the result
     * has several), - is a result that is not compared. */
    const char *results;
    operand gives[4];
    /* Makes gradients out of several results; NULL if there are none. */
    void (*make)(struct state *t, double *const *results);
} subject;

typedef struct state {
    const subject *s;
    double *in[MOST], *out[2], *dy, *gradients[MOST];
} state;

/* The elements of an operand; 0 where it is missing. */
int64_t count(const operand *o);
/* n numbers in [-size, size), in new memory. */
double *numbers(uint64_t stream, int64_t n, double size);

/* Sets up operand k of a direct run. */
void place(const operand *o, double *values, int k, tsr_tensor *tensors, void **data,
           size_t *bytes);

/* Runs the op and its gradient, and compares all gradients. */
void check(const subject *s);
/* The same in parts, for gradients that are made in another way: fills the operands and runs the
 * forward op; checks all gradients that were made, and frees everything. */
void begin(state *t, const subject *s);
void end(state *t);

#endif
