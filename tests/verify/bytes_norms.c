/* tests/verify/bytes_norms.c - a product that norms its operand gives the same bytes by work-groups of any size. */
#include "verify/same_bytes.h"

#include "base/error.h"
#include "support/cases.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* The case with other rows: so many numbers each. */
static tsri_case with_width(const tsri_case *c, int64_t K) {
    tsri_case other = *c;
    other.in[0].dim[2] = other.in[1].dim[1] = other.in[4].dim[0] = TSRI_CASE_K(K);
    return other;
}

/* A stage norms the rows, or the product's own work-groups, of any number of work-items from 4 to 256. A
 * sum in another order seldom shows: in one of ten roots. So there are many rows, with more numbers than
 * a float4 for each of 256 work-items. */
Test(bytes, of_a_norm_by_any_work_group) {
    static const char *const variants[][6] = {
        {"tiled", "few_float:OUTPUTS=2:PARTS=2", "few_float:OUTPUTS=8:PARTS=16", "skinny"},
        {"int8", "int8_few:ROW_GROUP=256", "int8_few:ROW_GROUP=128", "int8_direct:SPLIT=1",
         "int8_direct:SPLIT=8"}};
    enum { WIDTH = 1056, STEP = 32, WIDTHS = 40 };
    tsri_verify_place place = {0};
    tsri_case_list list = {0};
    if (!open_selected(&place, 0) || cases_wanted() == TEST_SMOKE) {
        close_selected(&place);
        cr_skip_test("no OpenCL device is selected, or one that is slow to compile");
    }
    cr_assert_eq(tsri_cases_of(TSR_OP_LINEAR, &list), TSR_OK);
    for (int eight = 0; eight < 2; eight++) {
        const tsri_case *c = NULL;
        for (size_t k = 0; k < list.n && !c; k++)
            if (has_norm(&list.cases[k]) &&
                strstr(list.cases[k].name,
                       eight ? "M=2x1 K=128 N=65 q8_0" : "M=1x8 K=1032 N=67 f32") &&
                (list.cases[k].attrs.linear.compute == TSR_COMPUTE_INT8) == eight)
                c = &list.cases[k];
        cr_assert_not_null(c);
        for (int64_t w = 0; w < WIDTHS; w++) {
            const tsri_case wide = with_width(c, WIDTH + w * STEP);
            tsri_case_values first, other;
            cr_assert_eq(run_variant(&wide, place, "linear", variants[eight][0], &first), TSR_OK,
                         "%s", tsr_error_last());
            for (int v = 1; variants[eight][v]; v++) {
                cr_assert_eq(run_variant(&wide, place, "linear", variants[eight][v], &other),
                             TSR_OK, "%s: %s", variants[eight][v], tsr_error_last());
                compare_bytes(&wide, variants[eight][v], &first, &other);
                tsri_case_values_clear(&other);
            }
            tsri_case_values_clear(&first);
        }
    }
    free(list.cases);
    close_selected(&place);
}
