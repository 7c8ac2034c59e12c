/* tests/verify/differences.c - runs an op and its gradient on the oracle, and compares them. */
#include "verify/differences.h"

#include "base/random.h"
#include "support/direct.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS = 150 /* of an operand that are varied */ };

int64_t count(const operand *o) {
    int64_t n = 1;
    for (uint32_t i = 0; i < o->rank; i++)
        n *= o->dim[i];
    return o->rank ? n : 0;
}

double *numbers(uint64_t stream, int64_t n, double size) {
    double *x = malloc((size_t)(n + 1) * sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = (2 * tsri_base_uniform(17, stream, (uint64_t)i) - 1) * size;
    return x;
}

void place(const operand *o, double *values, int k, tsr_tensor *tensors, void **data,
           size_t *bytes) {
    const size_t n = (size_t)count(o);
    data[k] = NULL;
    if (!o->rank)
        return;
    tensors[k] = direct_tensor(o->ints ? TSR_I32 : TSR_F64, o->rank, o->dim);
    bytes[k] = n * (o->ints ? 4 : 8);
    data[k] = o->ints ? (void *)(uintptr_t)o->ints : values;
}

static void run_forward(const state *t) {
    tsr_tensor tensors[16];
    void *data[16];
    size_t bytes[16];
    int32_t *ints[MOST] = {NULL};
    for (int i = 0; i < MOST; i++) {
        place(&t->s->in[i], t->in[i], i, tensors, data, bytes);
        if (t->s->in[i].ints) /* operands are read back too */
            data[i] = ints[i] = memcpy(malloc(bytes[i] + 1), data[i], bytes[i]);
    }
    for (int i = 0; i < 2; i++)
        place(&t->s->out[i], t->out[i], MOST + i, tensors, data, bytes);
    cr_assert_eq(direct_run(t->s->forward, t->s->attrs, MOST, 2, tensors, data, bytes), TSR_OK,
                 "%s: %s", t->s->name, tsr_error_last());
    for (int i = 0; i < MOST; i++)
        free(ints[i]);
}

static double loss(const state *t) {
    double sum = 0;
    run_forward(t);
    for (int64_t i = 0, n = count(&t->s->out[0]); i < n; i++)
        sum += t->dy[i] * t->out[0][i];
    return sum;
}

static void run_gradient(state *t) {
    const subject *s = t->s;
    const uint32_t n_in = (uint32_t)strlen(s->operands), n_out = (uint32_t)strlen(s->results);
    tsr_tensor tensors[16];
    void *data[16] = {NULL}, *copies[16] = {NULL};
    double *results[4] = {NULL};
    size_t bytes[16];
    for (uint32_t i = 0; i < n_in; i++) {
        const char c = s->operands[i];
        if (c >= '0' && c <= '9')
            place(&s->in[c - '0'], t->in[c - '0'], (int)i, tensors, data, bytes);
        else if (c == 's')
            place(&(const operand){.rank = 1, .dim = {1}}, t->dy, (int)i, tensors, data, bytes);
        else if (c != '-')
            place(&s->out[c == 'B'], c == 'd' ? t->dy : t->out[c == 'B'], (int)i, tensors, data,
                  bytes);
        if (data[i])
            data[i] = copies[i] = memcpy(malloc(bytes[i] + 1), data[i], bytes[i]);
    }
    for (uint32_t i = 0; i < n_out; i++) {
        results[i] = numbers(99, count(&s->gives[i]), NAN);
        place(&s->gives[i], results[i], (int)(n_in + i), tensors, data, bytes);
    }
    cr_assert_eq(direct_run(s->gradient, s->gradient_attrs, n_in, n_out, tensors, data, bytes),
                 TSR_OK, "%s: %s", s->name, tsr_error_last());
    for (uint32_t i = 0; i < n_out; i++) {
        const int which = s->results[i] - '0';
        if (s->results[i] == '-' || !s->gives[i].rank)
            continue;
        const int64_t n = count(&s->in[which]);
        t->gradients[which] = calloc((size_t)n + 1, sizeof(double));
        for (int64_t k = 0; k < count(&s->gives[i]); k++)
            t->gradients[which][k % n] += results[i][k];
    }
    if (s->make)
        s->make(t, results);
    for (int i = 0; i < 16; i++)
        free(copies[i]);
    for (int i = 0; i < 4; i++)
        free(results[i]);
}

static void check_operand(state *t, int which) {
    const double h = 1e-4;
    const int64_t n = count(&t->s->in[which]), step = n > ELEMENTS ? n / ELEMENTS : 1;
    double largest = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(t->gradients[which][i]));
    cr_expect_gt(largest, 1e-3, "%s: operand %d gets nothing", t->s->name, which);
    for (int64_t i = 0; i < n; i += step) {
        double *x = &t->in[which][i];
        const double kept = *x;
        *x = kept + h;
        const double above = loss(t);
        *x = kept - h;
        const double below = loss(t), slope = (above - below) / (2 * h),
                     got = t->gradients[which][i];
        *x = kept;
        cr_expect(fabs(got - slope) <= 1e-3 * fabs(slope) + 1e-6 * largest,
                  "%s: operand %d [%lld] gets %.9g; differences give %.9g", t->s->name, which,
                  (long long)i, got, slope);
    }
}

void begin(state *t, const subject *s) {
    *t = (state){.s = s};
    for (int i = 0; i < MOST; i++)
        if (s->in[i].rank && !s->in[i].ints)
            t->in[i] = numbers((uint64_t)i, count(&s->in[i]), s->in[i].size ? s->in[i].size : 1);
    for (int i = 0; i < 2; i++)
        t->out[i] = numbers(0, count(&s->out[i]), NAN);
    t->dy = numbers(MOST, count(&s->out[0]), 1);
    for (int64_t i = 1; strchr(s->operands ? s->operands : "", 's') && i < count(&s->out[0]); i++)
        t->dy[i] = t->dy[0];
    run_forward(t);
}

void end(state *t) {
    for (int i = 0; i < MOST; i++)
        if (t->gradients[i])
            check_operand(t, i);
    for (int i = 0; i < MOST; i++)
        free(t->in[i]), free(t->gradients[i]);
    free(t->out[0]), free(t->out[1]), free(t->dy);
}

void check(const subject *s) {
    state t;
    begin(&t, s);
    run_gradient(&t);
    end(&t);
}
