/* tests/verify/bytes_bf16.c - variants for a CPU's instructions for products of bf16 give the sums of their
 * instruction, and those for one, few and many rows or queries the same. */
#include "verify/unit_sums.h"

#include "base/error.h"
#include "support/cases.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool tried_on_bf16(const tsri_case *c) {
    return c->attrs.linear.compute == TSR_COMPUTE_BF16 && tried_on_unit(c);
}

static bool is_gelu_after_bf16(const tsri_case *c) {
    return strstr(c->name, " bf16 gelu");
}

/* Whether the device takes a variant for one of the cases. */
static bool has_variant(const tsri_verify_place *place, const tsri_case_list *list,
                        const char *name) {
    static tsri_verify_variants known;
    bool any;
    for (size_t i = 0; i < list->n; i++) {
        if (!tried_on_bf16(&list->cases[i]))
            continue;
        cr_assert_eq(tsri_verify_ask(place->device, &list->cases[i], &known, &any), TSR_OK);
        for (size_t r = 0; r < known.n; r++)
            if (!strcmp(known.list[r].name, name)) {
                cr_expect(!strstr(known.list[r].why, "wrong results"), "%s: %s", name,
                          known.list[r].why);
                if (known.list[r].fits)
                    return true;
            }
    }
    return false;
}

/* Attention: few queries by the variant for them, and by that for many in tiles of 16 and of 64. */
static void run_bf16_attention(tsri_verify_place place) {
    static const char *const variants[] = {"bf16_decode", "bf16:QUERIES=64", "bf16:QUERIES=16"};
    tsri_case_list list = {0};
    size_t ran = 0;
    cr_assert_eq(tsri_cases_of(TSR_OP_ATTENTION, &list), TSR_OK);
    for (size_t i = 0; i < list.n && (cases_wanted() == TEST_ALL || ran < 4); i++) {
        const tsri_case *c = &list.cases[i];
        tsri_case_values first = {0}, other = {0};
        const int least = c->sizes[1] > 8; /* decode takes up to 8 queries */
        if (c->attrs.attention.compute != TSR_COMPUTE_BF16 || c->timed || !c->sizes[1])
            continue;
        cr_assert_eq(run_variant(c, place, "attention", variants[least], &first), TSR_OK, "%s: %s",
                     c->name, tsr_error_last());
        for (int v = least + 1; v < 3; v++) {
            cr_assert_eq(run_variant(c, place, "attention", variants[v], &other), TSR_OK, "%s: %s",
                         c->name, tsr_error_last());
            compare_bytes(c, variants[v], &first, &other);
            tsri_case_values_clear(&other);
        }
        tsri_case_values_clear(&first);
        ran++;
    }
    cr_expect(ran > 3, "attention=bf16 ran %zu cases", ran);
    free(list.cases);
}

ParameterizedTestParameters(bytes, of_bf16_on_a_cpu) {
    static bytes_subject subjects[OF_CPUS];
    for (size_t i = 0; i < OF_CPUS; i++)
        snprintf(subjects[i].op, sizeof subjects[i].op, "%s", of_cpus[i]);
    return cr_make_param_array(bytes_subject, subjects, OF_CPUS);
}

ParameterizedTest(bytes_subject *s, bytes, of_bf16_on_a_cpu) {
    static const char *const ops[] = {"linear", "glu_linear"};
    tsri_verify_place place = {0};
    const bool opencl = open_selected(&place, 0);
    for (int i = 0; i < 2 && opencl; i++) {
        tsri_case_list list = {0};
        cr_assert_eq(tsri_cases_of(tsri_graph_op_named(ops[i])->id, &list), TSR_OK);
        for (int form = 0; form < 3; form++) {
            static const char *const forms[] = {"", "_few", "_one"};
            char variant[48], whole[64];
            snprintf(variant, sizeof variant, "%s%s", s->op, forms[form]);
            snprintf(whole, sizeof whole, "%s/%s", ops[i], variant);
            if (!has_variant(&place, &list, whole))
                continue;
            run_unit(place, &list, ops[i], variant, tried_on_bf16, MOST_OF_UNIT);
            if (i == 0)
                run_unit(place, &list, ops[i], variant, is_gelu_after_bf16, MOST_OF_UNIT);
            if (i == 0 && !strcmp(variant, "bf16"))
                run_bf16_attention(place);
        }
        free(list.cases);
    }
    close_selected(&place);
    if (!opencl)
        cr_skip_test("no OpenCL device is selected");
}
