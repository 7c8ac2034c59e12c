/* Where all variants for a layout that was already chosen are refused, the weight is kept a second
 * time as plain rows. */
#include "opencl/rig.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char pocl[] = "Portable Computing Language";
static char folder[128];

/* Makes a copy of cl/ in whose linear/`file` `from` is replaced by `to`; kernels are then read from
 * this copy. */
static void break_kernels(const char *file, const char *from, const char *to) {
    char command[1024];
    const char *source = getenv("TESSERA_SOURCE");
    if (!source)
        cr_skip_test("TESSERA_SOURCE, the folder of the sources, isn't set");
    snprintf(folder, sizeof folder, "%s/tessera-kernels-XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    cr_assert_not_null(mkdtemp(folder));
    snprintf(command, sizeof command,
             "cp -r '%s/cl/.' '%s' && chmod -R u+w '%s' && sed -i 's/%s/%s/' '%s/linear/%s'"
             " && ! cmp -s '%s/cl/linear/%s' '%s/linear/%s'",
             source, folder, folder, from, to, folder, file, source, file, folder, file);
    cr_assert_eq(system(command), 0, "%s", command);
    setenv("TESSERA_KERNEL_PATH", folder, 1);
}

static void end(void) {
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert_eq(*folder ? system(command) : 0, 0);
}

TestSuite(opencl_fallback, .fini = end);

static int count(const char *text, const char *what) {
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
        n++;
    return n;
}

typedef struct told {
    bool chosen_says, packed_says;
    const char *why;
} told;

static void see(void *data, const tsr_variant *variant) {
    told *t = data;
    if (variant->chosen)
        t->chosen_says = strstr(variant->name, "linear/cached") &&
                         strstr(variant->why, "is refused on") && strstr(variant->why, t->why);
    else if (strstr(variant->name, "linear/packed:"))
        t->packed_says = !variant->fits && strstr(variant->why, t->why);
}

/* The rig's linear layer, with the best variant that reads plain rows, gives plain's bytes through
 * the fallback, twice on one device; a forced variant fails. */
static void expect_fallback(const char *why) {
    rig r;
    rig_linear plain, free_choice[2], forced;
    told t = {.why = why};
    rig_begin(&r, NULL, NULL);
    rig_open(&r, pocl, false);
    tsr_status status = rig_linear_make(&r, r.dev, "linear=packed", &forced);
    rig_linear_free(&r, &forced);
    if (!strstr(r.sentence, why)) {
        rig_end(&r);
        cr_skip_test("this device has no packed variant: %s", r.sentence);
    }
    cr_expect_eq(status, TSR_E_ARGUMENT, "%s", r.sentence);
    cr_assert_eq(rig_linear_make(&r, r.dev, "linear=plain", &plain), TSR_OK, "%s", r.sentence);
    cr_assert_eq(rig_linear_run(&r, r.dev, &plain), TSR_OK, "%s", r.sentence);
    cr_expect_eq(rig_linear_error(&plain), 0.0);
    for (int i = 0; i < 2; i++) {
        status = rig_linear_make(&r, r.dev, NULL, &free_choice[i]);
        cr_assert_eq(status, TSR_OK, "%s", r.sentence);
        cr_expect_str_eq(free_choice[i].layout.name, "panels64");
        cr_assert_eq(rig_linear_run(&r, r.dev, &free_choice[i]), TSR_OK, "%s", r.sentence);
        cr_expect_arr_eq(plain.result, free_choice[i].result, sizeof plain.result);
        cr_expect_eq(r.backend->plan_explain(free_choice[i].plan, 0, see, &t), TSR_OK);
        cr_expect(t.chosen_says && t.packed_says);
    }
    cr_expect_eq(count(r.log, "are kept a second time as plain rows"), 1, "%s", r.log);
    cr_expect(strstr(r.log, "linear/packed is refused on Portable Computing Language/"), "%s",
              r.log);
    for (int i = 0; i < 2; i++)
        rig_linear_free(&r, &free_choice[i]);
    rig_linear_free(&r, &plain);
    rig_end(&r);
}

Test(opencl_fallback, a_packed_row_that_does_not_build) {
    break_kernels("packed.cl", "const int rows = SIZE(R), panels",
                  "const int rows = SIZE(R) panels");
    expect_fallback("does not build");
}

Test(opencl_fallback, a_packed_row_that_gives_wrong_results) {
    break_kernels("packed_tile.clh", "sum\\[r\\]\\[j\\] = 0.0f;", "sum[r][j] = 0.5f;");
    expect_fallback("self-test: element");
}

/* Both are ints, so no driver could tell. */
Test(opencl_fallback, parameters_that_are_not_in_the_order_of_the_arguments_are_named) {
    rig r;
    rig_linear plain;
    break_kernels("plain.cl", "int N, int K", "int K, int N");
    rig_begin(&r, NULL, NULL);
    rig_open(&r, pocl, false);
    cr_expect_eq(rig_linear_make(&r, r.dev, "linear=plain", &plain), TSR_E_INTERNAL);
    cr_expect(strstr(r.sentence, "linear/plain.cl: parameter 13 of the kernel is \"K\", and its "
                                 "variant binds \"N\" there"),
              "%s", r.sentence);
    rig_linear_free(&r, &plain);
    rig_end(&r);
}

static tsr_status refuse(void *data, const tsr_op *op, const int64_t sizes[TSR_SYMBOLS],
                         void *const *operands) {
    (void)data, (void)op, (void)sizes, (void)operands;
    return TSR_E_UNSUPPORTED;
}

static const char *tell_why(void *data) {
    (void)data;
    return "rows of 75 are too many";
}

Test(opencl_fallback, a_reference_that_refuses_is_told_with_its_reason) {
    rig r;
    rig_linear plain;
    rig_begin(&r, NULL, NULL);
    rig_open(&r, pocl, false);
    r.host.reference = refuse;
    r.host.reported = tell_why;
    cr_expect_neq(rig_linear_make(&r, r.dev, "linear=plain", &plain), TSR_OK);
    cr_expect(strstr(r.sentence, "the reference backend does not run it: rows of 75 are too many"),
              "%s", r.sentence);
    rig_linear_free(&r, &plain);
    rig_end(&r);
}

static tsr_status lie(void *data, const tsr_op *op, const int64_t sizes[TSR_SYMBOLS],
                      void *const *operands) {
    (void)data, (void)op, (void)sizes, (void)operands; /* leaves the zeros that are there */
    return TSR_OK;
}

/* The wrong result is the reference's here, so the kernel would pass in a second start that tested
 * it again. */
Test(opencl_fallback, a_refused_kernel_stays_refused_in_later_starts) {
    rig r;
    rig_linear plain;
    rig_begin(&r, NULL, NULL);
    const tsr_host honest = r.host;
    for (int start = 0; start < 2; start++) {
        r.host.reference = start == 0 ? lie : honest.reference;
        r.sentence[0] = 0;
        rig_open(&r, pocl, false);
        cr_expect_neq(rig_linear_make(&r, r.dev, "linear=plain", &plain), TSR_OK);
        cr_expect(strstr(r.sentence, "self-test: element"), "start %d: \"%s\"", start, r.sentence);
        rig_linear_free(&r, &plain);
        r.backend->device_close(r.dev);
        r.dev = NULL;
    }
    rig_end(&r);
}
