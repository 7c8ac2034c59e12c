/* An instance of a variant has one stage, which follows from its constants. */
#include "backends/opencl/program/program.h"
#include "base/error.h"

#include <criterion/criterion.h>
#include <string.h>

enum { ROUNDED = 1, PLAIN = 2, OTHER = 3 }; /* ranks of operand 0, for which the stage differs */

static bool needs_stage(const tsr_op *op) {
    return op->in[0]->rank != PLAIN;
}

static void define_stage(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)variant;
    tsri_opencl_define_int(defines, "RANK", (int)op->in[0]->rank);
}

static const tsri_opencl_stage stage = {
    .name = "stage", .file = "stage.cl", .needed = needs_stage, .define = define_stage};
static const tsri_opencl_variant incomplete = {
    .name = "incomplete", .op = TSR_OP_COPY, .file = "incomplete.cl", .before = &stage};

/* The variant's instance for an operand of this rank; the variant's constants don't include it. */
static tsr_status ask(tsr_dev *dev, uint32_t rank, tsri_opencl_instance **out) {
    const tsr_tensor x = {.struct_size = sizeof x, .rank = rank};
    const tsr_tensor *in[] = {&x};
    const tsr_op op = {.struct_size = sizeof op, .id = TSR_OP_COPY, .n_in = 1, .in = in};
    return tsri_opencl_instance_of(dev, &incomplete, &op, NULL, NULL, out);
}

Test(opencl_program, an_instance_has_one_stage) {
    static const uint32_t ranks[] = {ROUNDED, PLAIN, OTHER};
    for (int first = 0; first < 3; first++)
        for (int then = 0; then < 3; then++) {
            const tsri_opencl_found found = {.version = 102};
            tsr_dev dev = {.found = &found};
            tsri_opencl_instance *one = NULL, *two = NULL;
            cr_assert_eq(tsri_opencl_programs_create(&dev, &dev.programs), TSR_OK);
            cr_assert_eq(ask(&dev, ranks[first], &one), TSR_OK);
            cr_expect_eq(one->before != NULL, ranks[first] != PLAIN);
            const tsr_status status = ask(&dev, ranks[then], &two);
            cr_expect_eq(status, then == first ? TSR_OK : TSR_E_INTERNAL, "ranks %u, then %u",
                         ranks[first], ranks[then]);
            if (then == first)
                cr_expect_eq(two, one);
            else
                cr_expect(strstr(tsri_base_reported(), "copy/incomplete has the stage"), "%s",
                          tsri_base_reported());
            tsri_opencl_programs_destroy(dev.programs);
        }
}
