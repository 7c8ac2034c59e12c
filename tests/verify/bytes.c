/* tests/verify/bytes.c - kernel variants that promise the bytes of the plain one, not only its
 * bounds: whichever variant a plan chooses, a sequence gives the same. Runs on the device of the
 * tests, and is skipped if there is none. */
#include "verify/verify.h"

#include "base/error.h"
#include "support/cases.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct subject {
    tsr_op_id op;
    const char *name, *rows[4]; /* of the op; the variants that promise */
    const char *part;           /* the cases with this in their names are run */
    int most;                   /* so many cases at most, at level all */
} subject;

static tsr_status run_row(const tsri_case *c, tsri_verify_place place, const char *op,
                          const char *row, tsri_case_values *values) {
    char kernels[64];
    snprintf(kernels, sizeof kernels, "%s=%s", op, row);
    place.kernels = kernels;
    tsr_status status = tsri_case_values_fill(c, false, values);
    if (status == TSR_OK)
        status = tsri_verify_run(c, &c->attrs, &place, values);
    return status;
}

static void compare(const tsri_case *c, const char *row, const tsri_case_values *plain,
                    const tsri_case_values *other) {
    for (int i = 0; i < plain->n_out; i++)
        for (size_t k = 0; k < plain->out_count[i]; k++) {
            float a, b;
            if (plain->out_dtype[i] == TSR_BF16) {
                cr_assert_eq(((uint16_t *)plain->out[i])[k], ((uint16_t *)other->out[i])[k],
                             "%s, %s: output %d[%zu]", row, c->name, i, k);
                continue;
            }
            memcpy(&a, (char *)plain->out[i] + 4 * k, 4);
            memcpy(&b, (char *)other->out[i] + 4 * k, 4);
            cr_assert(a == b, "%s, %s: output %d[%zu] is %.9g, plain's %.9g", row, c->name, i, k,
                      (double)b, (double)a);
        }
}

static void check(const subject *s) {
    const tsri_backend_options options = {0};
    const tsr_device_options device_options = {.struct_size = sizeof device_options};
    tsri_verify_place place = {0};
    tsri_case_list list = {0};
    size_t number = 0;
    int ran = 0, cases = 0;
    static const int share[] = {[TEST_SMOKE] = 4, [TEST_SOME] = 3, [TEST_ALL] = 1};
    const int most = (s->most + share[cases_wanted()] - 1) / share[cases_wanted()];
    cr_assert_eq(tsri_backend_set_open(&options, &place.set), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_backend_select(place.set, NULL, &number), TSR_OK, "%s", tsr_error_last());
    if (strcmp(tsri_backend_at(place.set, number)->backend->name, "opencl") != 0) {
        tsri_backend_set_close(&place.set);
        cr_skip_test("no OpenCL device is selected");
    }
    cr_assert_eq(tsri_backend_device_open(place.set, number, &device_options, &place.device),
                 TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_cases_of(s->op, &list), TSR_OK, "%s", tsr_error_last());
    for (size_t i = 0; i < list.n && cases < most; i++) {
        const tsri_case *c = &list.cases[i];
        if (!strstr(c->name, s->part))
            continue;
        cases++;
        tsri_case_values plain, other;
        cr_assert_eq(run_row(c, place, s->name, "plain", &plain), TSR_OK, "%s: %s", c->name,
                     tsr_error_last());
        for (int r = 0; r < 4 && s->rows[r]; r++) {
            const tsr_status status = run_row(c, place, s->name, s->rows[r], &other);
            cr_assert(status == TSR_OK || strstr(tsr_error_last(), "can't be used"), "%s, %s: %s",
                      s->rows[r], c->name, tsr_error_last());
            if (status == TSR_OK) {
                compare(c, s->rows[r], &plain, &other);
                ran++;
            }
            tsri_case_values_clear(&other);
        }
        tsri_case_values_clear(&plain);
    }
    free(list.cases);
    tsri_backend_device_close(&place.device);
    tsri_backend_set_close(&place.set);
    if (ran == 0)
        cr_skip_test("%s: no kernel variant but plain fits this device", s->name);
    cr_expect_gt(ran, cases / 2, "%d runs of %d cases", ran, cases);
}

#define ATTENTION                    \
    TSR_OP_ATTENTION, "attention", { \
        "decode", "flash", "tiled"   \
    }

Test(bytes, attention_relative) {
    check(&(subject){ATTENTION, " relative", 6});
}

Test(bytes, attention_by_source) {
    check(&(subject){ATTENTION, " keys by source", 4});
}

Test(bytes, attention_grad) {
    check(&(subject){TSR_OP_ATTENTION_GRAD, "attention_grad", {"flash", "tiled"}, "causal", 6});
    check(&(subject){TSR_OP_ATTENTION_GRAD, "attention_grad", {"flash", "tiled"}, " bias [", 2});
}

Test(bytes, gru_cell) {
    check(&(subject){TSR_OP_GRU_CELL, "gru_cell", {"packed", "rows"}, "E=48", 6});
}

Test(bytes, additive_attention) {
    check(&(subject){TSR_OP_ADDITIVE_ATTENTION, "additive_attention", {"lanes"}, "S=", 8});
}

Test(bytes, additive_attention_grad) {
    check(&(subject){
        TSR_OP_ADDITIVE_ATTENTION_GRAD, "additive_attention_grad", {"lanes"}, "E=32", 4});
}

Test(bytes, pool) {
    check(&(subject){TSR_OP_POOL, "pool", {"lanes"}, "C=48", 8});
}

Test(bytes, norm_grad) {
    check(&(subject){TSR_OP_NORM_GRAD, "norm_grad", {"lanes"}, "C=", 30});
}

Test(bytes, norm_weight_grad) {
    check(&(subject){TSR_OP_NORM_WEIGHT_GRAD, "norm_weight_grad", {"lanes"}, "C=", 12});
}

Test(bytes, sum_rows) {
    check(&(subject){TSR_OP_SUM_ROWS, "sum_rows", {"lanes"}, "C=", 14});
}

Test(bytes, embed_add) {
    check(&(subject){TSR_OP_EMBED_ADD, "embed_add", {"lanes", "group"}, "C=", 14});
}

Test(bytes, scatter) {
    check(&(subject){TSR_OP_SCATTER, "scatter", {"lanes"}, "C=", 14});
}

Test(bytes, softmax_grad) {
    check(&(subject){TSR_OP_SOFTMAX_GRAD, "softmax_grad", {"lanes"}, "S=", 14});
}

#define LANES(id, name_, part_, most_)                          \
    Test(bytes, name_) {                                        \
        check(&(subject){id, #name_, {"lanes"}, part_, most_}); \
    }

LANES(TSR_OP_CROSS_ENTROPY, cross_entropy, "V=", 12)
LANES(TSR_OP_CROSS_ENTROPY_GRAD, cross_entropy_grad, "V=", 13)
LANES(TSR_OP_KL_DIVERGENCE, kl_divergence, "V=", 12)
LANES(TSR_OP_KL_DIVERGENCE_GRAD, kl_divergence_grad, "V=", 13)
LANES(TSR_OP_ADAMW, adamw, "N=", 15)
LANES(TSR_OP_SUMSQ, sumsq, "N=", 23)
LANES(TSR_OP_ACCUMULATE, accumulate, "N=", 9)
LANES(TSR_OP_ACTIVATION_GRAD, activation_grad, "gelu", 14)
LANES(TSR_OP_DROPOUT, dropout, "rate", 8)
LANES(TSR_OP_GLU, glu, "silu", 6)
LANES(TSR_OP_GLU_GRAD, glu_grad, "gelu", 12)
LANES(TSR_OP_CONCAT, concat, "B=", 8)

/* ---- one thread or two ---- */

static void open_device(tsri_verify_place *place, uint32_t threads) {
    const tsri_backend_options options = {.threads = threads};
    const tsr_device_options device_options = {.struct_size = sizeof device_options,
                                               .threads = threads};
    size_t number = 0;
    cr_assert_eq(tsri_backend_set_open(&options, &place->set), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_backend_select(place->set, NULL, &number), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_backend_device_open(place->set, number, &device_options, &place->device),
                 TSR_OK, "%s", tsr_error_last());
}

static const tsr_op_id learning[] = {TSR_OP_ACCUMULATE,
                                     TSR_OP_MATMUL_ADD,
                                     TSR_OP_EMBED_ADD,
                                     TSR_OP_SUM_ROWS,
                                     TSR_OP_NORM_GRAD,
                                     TSR_OP_NORM_WEIGHT_GRAD,
                                     TSR_OP_ACTIVATION_GRAD,
                                     TSR_OP_GLU_GRAD,
                                     TSR_OP_CROSS_ENTROPY,
                                     TSR_OP_CROSS_ENTROPY_GRAD,
                                     TSR_OP_KL_DIVERGENCE_GRAD,
                                     TSR_OP_DROPOUT,
                                     TSR_OP_SUMSQ,
                                     TSR_OP_ADAMW,
                                     TSR_OP_SGD};
enum { N_LEARNING = sizeof learning / sizeof *learning };

/* Hashes (FNV-1a) all result bytes of the first and the last case of each op, by the kernel
 * variants that a plan chooses. */
static void run_all(uint32_t threads, uint64_t sums[N_LEARNING]) {
    tsri_verify_place place = {0};
    open_device(&place, threads);
    for (int i = 0; i < N_LEARNING; i++) {
        tsri_case_list list = {0};
        sums[i] = 0xcbf29ce484222325u;
        cr_assert_eq(tsri_cases_of(learning[i], &list), TSR_OK, "%s", tsr_error_last());
        for (int k = 0; k < 2; k++) {
            const tsri_case *c = &list.cases[k ? list.n - 1 : 0];
            tsri_case_values values;
            cr_assert_eq(tsri_case_values_fill(c, false, &values), TSR_OK);
            cr_assert_eq(tsri_verify_run(c, &c->attrs, &place, &values), TSR_OK, "%s: %s", c->name,
                         tsr_error_last());
            for (int o = 0; o < values.n_out; o++)
                for (size_t b = 0; b < values.out_bytes[o]; b++)
                    sums[i] = (sums[i] ^ ((unsigned char *)values.out[o])[b]) * 0x100000001b3u;
            tsri_case_values_clear(&values);
        }
        free(list.cases);
    }
    tsri_backend_device_close(&place.device);
    tsri_backend_set_close(&place.set);
}

/* A driver starts its threads once in a process, so another number needs another process. */
Test(bytes, training_does_not_depend_on_the_number_of_threads) {
    uint64_t one[N_LEARNING] = {0}, all[N_LEARNING];
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    const pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        run_all(1, one);
        _exit(write(ends[1], one, sizeof one) != (ssize_t)sizeof one);
    }
    close(ends[1]);
    cr_assert_eq(read(ends[0], one, sizeof one), (ssize_t)sizeof one, "one thread gave no answer");
    cr_assert_eq(waitpid(child, NULL, 0), child);
    close(ends[0]);
    run_all(0, all);
    for (int i = 0; i < N_LEARNING; i++)
        cr_expect_eq(one[i], all[i], "op %d gives other bytes on one thread", (int)learning[i]);
}
