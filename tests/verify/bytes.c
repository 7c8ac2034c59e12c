/* tests/verify/bytes.c - kernel variants give the bytes of the plain one, not only results within
 * its bounds: whichever variant a plan chooses, a sequence gives the same. Those that can't promise
 * this say so. Runs on the device of the tests, and is skipped if there is none. */
#include "verify/same_bytes.h"
#include "verify/unit_sums.h"

#include "base/error.h"
#include "support/cases.h"
#include "tessera/verify.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void find_fitting(tsri_verify_place place, const tsri_case_list *list,
                         tsri_verify_variants *known, fitting *found) {
    bool any;
    for (size_t i = 0; i < list->n; i++) {
        cr_assert_eq(tsri_verify_ask(place.device, &list->cases[i], known, &any), TSR_OK, "%s",
                     tsr_error_last());
        for (size_t r = 0; r < known->n; r++)
            if (known->list[r].fits && found[r].n < MOST_CASES)
                found[r].cases[found[r].n++] = i;
    }
}

/* A variant that the device refuses when it is built is not compared. */
static void check_variant(tsri_verify_place place, const char *op, const char *variant,
                          const tsri_case *const *cases, size_t n) {
    size_t ran = 0;
    build_ahead(place, op, variant, cases, n);
    for (size_t k = 0; k < n; k++) {
        tsri_case_values plain, other;
        cr_assert_eq(run_variant(cases[k], place, op, model_variant(cases[k]), &plain), TSR_OK,
                     "%s: %s", cases[k]->name, tsr_error_last());
        const tsr_status status = run_variant(cases[k], place, op, variant, &other);
        cr_expect(status == TSR_OK || strstr(tsr_error_last(), "can't be used"), "%s, %s: %s",
                  variant, cases[k]->name, tsr_error_last());
        if (status == TSR_OK) {
            compare_bytes(cases[k], variant, &plain, &other);
            ran++;
        }
        tsri_case_values_clear(&other);
        tsri_case_values_clear(&plain);
    }
    cr_expect(ran || !n, "%s ran no case", variant);
}

static bool begins_with_one_of(const char *name, const char *const *words, int n) {
    for (int i = 0; i < n; i++)
        if (!strncmp(name, words[i], strlen(words[i])))
            return true;
    return false;
}

/* Whether a variant, "linear/mma_few", multiplies by a matrix unit or a CPU's instruction. */
static bool has_unit(const char *variant) {
    const char *name = strchr(variant, '/');
    return name && (begins_with_one_of(name + 1, units, UNITS) ||
                    begins_with_one_of(name + 1, of_cpus, OF_CPUS));
}

/* A row's sum over a whole work-group, or over parts of the row (topk/parts), has an order of its own,
 * so it is only the same in every batch. In embed_add, each work-item has columns of its own; in sample,
 * sums are integers. Variants that multiply halves or bf16 round as op.h says; plain computes in f32. */
static bool promises(const tsri_verify_variant *variant) {
    return !variant->varies && !strstr(variant->name, "/plain") &&
           !strstr(variant->name, "/sub_groups") && strcmp(variant->name, "topk/parts") != 0 &&
           !strstr(variant->name, "_half") && !has_unit(variant->name) &&
           (!strstr(variant->name, "/group") || !strcmp(variant->name, "embed_add/group") ||
            !strcmp(variant->name, "sample/group"));
}

ParameterizedTestParameters(bytes, of_plain) {
    static bytes_subject subjects[128];
    size_t n = 0;
    for (; n < sizeof subjects / sizeof *subjects && tsr_verify_op_name(n); n++)
        snprintf(subjects[n].op, sizeof subjects[n].op, "%s", tsr_verify_op_name(n));
    return cr_make_param_array(bytes_subject, subjects, n);
}

ParameterizedTest(bytes_subject *s, bytes, of_plain) {
    const size_t most = cases_wanted() == TEST_ALL ? MOST_PICKED : 1;
    static tsri_verify_variants known;
    static fitting found[TSRI_VERIFY_MAX_VARIANTS];
    static const tsri_case *picked[TSRI_VERIFY_MAX_VARIANTS * MOST_PICKED];
    size_t n = 0;
    tsri_verify_place place = {0};
    tsri_case_list list = {0};
#ifdef __SANITIZE_ADDRESS__
    cr_skip_test("sanitizers see nothing of kernels; the host's part is in rows.c");
#endif
    if (!cases_due_next(s->op))
        cr_skip_test("not this op's turn");
    if (!open_selected(&place, 0)) {
        close_selected(&place);
        cr_skip_test("no OpenCL device is selected");
    }
    cr_assert_eq(tsri_cases_of(tsri_graph_op_named(s->op)->id, &list), TSR_OK);
    find_fitting(place, &list, &known, found);
    for (size_t r = 0; r < known.n; r++)
        if (promises(&known.list[r])) {
            const size_t some = pick_cases(&list, &found[r], most, &picked[n]);
            for (size_t k = n, end = n + some; k < end; k++)
                if (!has_norm(picked[k]))
                    picked[n++] = picked[k];
        }
    build_ahead(place, s->op, "plain", picked, n);
    n = 0;
    for (size_t r = 0; r < known.n; r++)
        if (promises(&known.list[r])) {
            const size_t some = pick_cases(&list, &found[r], most, &picked[n]);
            check_variant(place, s->op, known.list[r].name, &picked[n], some);
            n += some;
        }
    free(list.cases);
    close_selected(&place);
}
