/* tests/verify/bytes_units.c - variants for matrix units of GPUs, which kernels emulate here, give the sums of their
 * unit: in products, and in attention whatever the number of queries and work-groups. */
#include "verify/unit_sums.h"

#include "base/error.h"
#include "support/cases.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Within the case's bound of what plain gives in f32. */
static void expect_near(const tsri_case *c, tsri_verify_place place, const char *variant,
                        const tsri_case_values *got) {
    tsri_case_values want = {0}, terms = {0};
    tsri_verify_worst worst = {0};
    place.kernels = "attention=plain";
    cr_assert_eq(tsri_case_values_fill(c, false, &want), TSR_OK);
    cr_assert_eq(tsri_case_values_fill(c, true, &terms), TSR_OK);
    cr_assert_eq(tsri_verify_run(c, &c->attrs, &place, &want), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_verify_run(c, &c->term_attrs, &place, &terms), TSR_OK, "%s",
                 tsr_error_last());
    cr_assert_eq(tsri_verify_compare(c, &want, &terms, got, &worst), TSR_OK, "%s",
                 tsr_error_last());
    cr_expect_eq(worst.misses, 0, "%s, %s: output %d[%zu] is %.9g, not %.9g within %.3g", variant,
                 c->name, worst.output, worst.element, worst.got, worst.want, worst.bound);
    tsri_case_values_clear(&want);
    tsri_case_values_clear(&terms);
}

/* Attention: a few queries with more keys than a chunk, one work-group or several for a sequence, and as
 * a plan for many queries has them; without a soft cap, and with one. */
static void run_unit_attention(tsri_verify_place place, const char *unit) {
    tsri_case_list list = {0};
    size_t ran = 0, of_kind[2] = {0};
    cr_assert_eq(tsri_cases_of(TSR_OP_ATTENTION, &list), TSR_OK);
    for (size_t i = 0; i < list.n; i++) {
        tsri_case *c = &list.cases[i];
        tsri_case_values one = {0}, split = {0}, many = {0};
        char name[2][48];
        if (c->attrs.attention.compute == TSR_COMPUTE_F32 || c->timed || c->sizes[2] <= 256 ||
            c->sizes[1] * c->in[0].dim[2].factor / c->in[1].dim[2].factor > 16)
            continue;
        if (of_kind[c->attrs.attention.soft_cap > 0]++ && cases_wanted() != TEST_ALL)
            continue;
        snprintf(name[0], sizeof *name, "%.16s", unit);
        snprintf(name[1], sizeof *name, "%.16s_split:DEPTH=%d", unit, ran % 2 ? 1 : 3);
        cr_assert_eq(run_variant(c, place, "attention", name[0], &one), TSR_OK, "%s: %s", c->name,
                     tsr_error_last());
        cr_assert_eq(run_variant(c, place, "attention", name[1], &split), TSR_OK, "%s: %s", c->name,
                     tsr_error_last());
        compare_bytes(c, name[1], &one, &split);
        expect_near(c, place, name[0], &one);
        c->most[1] = 300;
        cr_assert_eq(run_variant(c, place, "attention", name[0], &many), TSR_OK, "%s: %s", c->name,
                     tsr_error_last());
        compare_bytes(c, "for many queries", &one, &many);
        tsri_case_values_clear(&one);
        tsri_case_values_clear(&split);
        tsri_case_values_clear(&many);
        ran++;
    }
    cr_expect(of_kind[0] && of_kind[1], "attention=%s: %zu cases have no soft cap, %zu have one",
              unit, of_kind[0], of_kind[1]);
    free(list.cases);
}

ParameterizedTestParameters(bytes, of_a_matrix_unit) {
    static bytes_subject subjects[UNITS];
    for (size_t i = 0; i < UNITS; i++)
        snprintf(subjects[i].op, sizeof subjects[i].op, "%s", units[i]);
    return cr_make_param_array(bytes_subject, subjects, UNITS);
}

/* Opens the device of the tests, which a layer makes a GPU that has the unit; its kernels then emulate
 * it. */
static void open_unit(tsri_verify_place *place, const char *unit) {
    char path[4096], probe[4096];
    cr_assert(getenv("TESSERA_BUILD"));
    snprintf(path, sizeof path, "%s/tests/gpu_layer.so", getenv("TESSERA_BUILD"));
    snprintf(probe, sizeof probe, "%s/libexec/tessera/probe", getenv("TESSERA_BUILD"));
    setenv("TESSERA_PROBE", probe, 1); /* without the cache, which holds what other layers gave */
    setenv("OPENCL_LAYERS", path, 1);
    setenv("TSR_GPU_UNIT", unit, 1);
    setenv("TSR_GPU_GROUP", "256", 1);
    setenv("TSR_GPU_LOCAL", "65536", 1);
    cases_build_unoptimised();
    const bool opencl = access(path, R_OK) == 0 && open_selected(place, 0);
    if (!opencl || cases_wanted() == TEST_SMOKE) {
        close_selected(place);
        cr_skip_test("no OpenCL device is selected, or one that is slow to compile");
    }
}

ParameterizedTest(bytes_subject *s, bytes, of_a_matrix_unit) {
    static const char *const ops[] = {"linear", "glu_linear"};
    tsri_verify_place place = {0};
    if (cases_wanted() != TEST_ALL && strcmp(s->op, units[cases_turn() % UNITS]) != 0)
        cr_skip_test("not this unit's turn");
    open_unit(&place, s->op);
    for (int i = 0; i < 2; i++) {
        tsri_case_list list = {0};
        cr_assert_eq(tsri_cases_of(tsri_graph_op_named(ops[i])->id, &list), TSR_OK);
        for (int few = 0; few < 2; few++) {
            char variant[48];
            snprintf(variant, sizeof variant, "int8_%s%s", s->op, few ? "_few" : "");
            run_unit(place, &list, ops[i], variant + strlen("int8_"), tried_on_unit, MOST_OF_UNIT);
            if (cases_wanted() == TEST_ALL || i == 0)
                run_unit(place, &list, ops[i], variant, is_of_int8, MOST_PICKED);
        }
        free(list.cases);
    }
    run_unit_attention(place, s->op);
    close_selected(&place);
}

static bool is_short_f16(const tsri_case *c) {
    return !c->timed && c->sizes[1] > 0 && c->sizes[1] < 16 && c->sizes[2] > 256 &&
           c->attrs.attention.compute == TSR_COMPUTE_F16;
}

/* A compiler that takes the unit's products and refuses its reads (ldmatrix): operands are then read by
 * ordinary code, and the bytes are the same. */
Test(bytes, of_a_matrix_unit_without_its_reads) {
    static const struct {
        const char *op, *variant;
        bool (*of_kind)(const tsri_case *c);
    } rows[] = {{"linear", "mma_few", tried_on_unit}, {"attention", "mma", is_short_f16}};
    tsri_verify_place with = {0}, without = {0};
    open_unit(&with, "mma");
    open_unit(&without, "mma_plain");
    for (int i = 0; i < 2; i++) {
        tsri_case_list list = {0};
        tsri_case_values one = {0}, other = {0};
        size_t k = 0;
        cr_assert_eq(tsri_cases_of(tsri_graph_op_named(rows[i].op)->id, &list), TSR_OK);
        setenv("TSR_GPU_UNIT", "mma", 1);
        for (; k < list.n; k++) {
            if (!rows[i].of_kind(&list.cases[k]))
                continue;
            if (run_variant(&list.cases[k], with, rows[i].op, rows[i].variant, &one) == TSR_OK)
                break;
            tsri_case_values_clear(&one);
        }
        cr_assert_lt(k, list.n, "%s: %s", rows[i].variant, tsr_error_last());
        setenv("TSR_GPU_UNIT", "mma_plain", 1);
        cr_assert_eq(run_variant(&list.cases[k], without, rows[i].op, rows[i].variant, &other),
                     TSR_OK, "%s", tsr_error_last());
        compare_bytes(&list.cases[k], rows[i].variant, &one, &other);
        tsri_case_values_clear(&one);
        tsri_case_values_clear(&other);
        free(list.cases);
    }
    close_selected(&with);
    close_selected(&without);
}
