/* The words of the lists of operands name dimensions of an op's tensors. */
#include "tensor/operands.h"
#include "tensor/shape.h"

#include <criterion/criterion.h>

Test(operands, words_name_dimensions) {
    tsr_tensor tensors[3] = {{.rank = 3}, {.rank = 2}, {.rank = 3}};
    for (int i = 0; i < 3; i++)
        for (int d = 0; d < 3; d++)
            tensors[i].dim[d] = tsri_tensor_const(10 * (i + 1) + d);
    const tsr_tensor *in[] = {&tensors[0], &tensors[1]}, *out[] = {&tensors[2]};
    tsr_linear_attrs attrs = {.struct_size = sizeof attrs};
    const tsr_op op = {
        .id = TSR_OP_LINEAR, .n_in = 2, .n_out = 1, .in = in, .out = out, .attrs = &attrs};
    cr_assert_eq(tsri_tensor_axis(&op, 0, "K"), 2);
    cr_assert_eq(tsri_tensor_axis(&op, 0, "N"), -1);
    cr_assert_eq(tsri_tensor_axis(&op, 1, "K"), 0);
    cr_assert_eq(tsri_tensor_axis(&op, 1, "N"), 1);
    cr_assert_eq(tsri_tensor_axis(&op, 2, "N"), 2);
    attrs.trans_w = 1;
    cr_assert_eq(tsri_tensor_axis(&op, 1, "K"), 1);
    cr_assert_eq(tsri_tensor_axis(&op, 1, "N"), 0);
    cr_assert_eq(tsri_tensor_axis(&op, 2, "N"), 2);
    cr_assert_eq(tsri_tensor_size(&op, "K").factor, 12);
    cr_assert_eq(tsri_tensor_size(&op, "N").factor, 20);
    cr_assert_eq(tsri_tensor_size(&op, "..").factor, 10 * 11);
    cr_assert_eq(tsri_tensor_axis(&op, 0, ".."), -1);
    cr_assert(tsri_tensor_is_one(tsri_tensor_size(&op, "F")));
}
