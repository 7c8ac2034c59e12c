/* Kernels are C, which writes numbers with a point, whatever locale the program has set. */
#include "opencl/rig.h"
#include "support/comma.h"
#include "tensor/shape.h"

#include <criterion/criterion.h>
#include <string.h>

static void see(void *data, const tsr_variant *variant) {
    if (variant->chosen)
        strncpy(data, variant->name, 255);
}

Test(opencl_locale, constants_with_fractions_have_a_point) {
    enum { F = 48 };
    static const tsr_activation_attrs form = {
        .struct_size = sizeof form, .activation = TSR_ACT_SILU, .limit = 7.3F, .alpha = 1.7F};
    static const tsr_bounds bounds = {
        .struct_size = sizeof bounds, .lowest = {1, 1, 1, 1, 1}, .highest = {1, 1, 1, 1, 1}};
    const tsr_buffer_spec room = {.struct_size = sizeof room, .bytes = 2 * F * sizeof(float)};
    tsr_tensor x = {.struct_size = sizeof x, .dtype = TSR_F32, .rank = 2}, y;
    char name[256] = "";
    tsr_plan *plan = NULL;
    rig r;
    rig_begin(&r, NULL, NULL);
    rig_open(&r, "Portable Computing Language", false);
    comma_begin();
    cr_assert_eq(r.backend->buffer_create(r.dev, &room, &x.buf), TSR_OK, "%s", r.sentence);
    x.dim[0] = tsri_tensor_const(1);
    x.dim[1] = tsri_tensor_const(2 * F);
    tsri_tensor_pack(&x);
    y = x;
    y.dim[1] = tsri_tensor_const(F);
    tsri_tensor_pack(&y);
    const tsr_tensor *in[] = {&x}, *out[] = {&y};
    const tsr_op op = {.struct_size = sizeof op,
                       .id = TSR_OP_GLU,
                       .n_in = 1,
                       .n_out = 1,
                       .in = in,
                       .out = out,
                       .attrs = &form,
                       .bounds = &bounds};
    const tsr_op *const ops[] = {&op};
    const tsr_plan_spec spec = {
        .struct_size = sizeof spec, .n_ops = 1, .ops = ops, .bounds = &bounds, .dims = x.buf};
    cr_assert_eq(r.backend->plan_create(r.dev, &spec, &plan), TSR_OK, "%s", r.sentence);
    cr_expect_eq(r.backend->plan_explain(plan, 0, see, name), TSR_OK);
    cr_expect(strstr(name, "GLU_LIMIT=0x1.d"), "%s", name);
    r.backend->plan_destroy(plan);
    r.backend->buffer_destroy(x.buf);
    rig_end(&r);
}
