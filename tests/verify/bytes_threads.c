/* tests/verify/bytes_threads.c - ops of training give the same bytes on one thread as on all. */
#include "verify/same_bytes.h"

#include "base/error.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

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
    open_selected(&place, threads);
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
    close_selected(&place);
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
