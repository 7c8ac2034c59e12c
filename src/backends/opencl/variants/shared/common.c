/* backends/opencl/variants/shared/common.c - what the files of variants share: questions that several
 * `fits` ask, operands, common arguments. */
#include "backends/opencl/variants/shared/common.h"
#include "base/numbers.h"
#include "tensor/dtype.h"
#include "tensor/operands.h"
#include "tensor/quantize.h"

#include <float.h>
#include <stdio.h>

const tsr_tensor *tsri_opencl_in(const tsr_op *op, uint32_t i) {
    return i < op->n_in ? op->in[i] : NULL;
}

const tsr_tensor *tsri_opencl_out(const tsr_op *op, uint32_t i) {
    return i < op->n_out ? op->out[i] : NULL;
}

bool tsri_opencl_is_float(const tsr_tensor *tensor) {
    return tensor->dtype == TSR_F32 || tensor->dtype == TSR_F16 || tensor->dtype == TSR_BF16;
}

bool tsri_opencl_is_f32(const tsr_tensor *tensor) {
    return tensor->dtype == TSR_F32;
}

bool tsri_opencl_is_kv(const tsr_tensor *tensor) {
    return tsri_opencl_is_float(tensor) || tensor->dtype == TSR_GGML_Q8_0;
}

bool tsri_opencl_is_constant(tsr_dim dim) {
    return dim.symbols == 0;
}

bool tsri_opencl_last_contiguous(const tsr_tensor *tensor) {
    if (tensor->rank == 0)
        return true;
    const uint32_t last = tensor->rank - 1;
    return tsri_tensor_is_one(tensor->dim[last]) || tsri_tensor_is_one(tensor->stride[last]);
}

int64_t tsri_opencl_highest(const tsr_op *op, tsr_dim dim) {
    static const int64_t ones[TSR_SYMBOLS] = {1, 1, 1, 1, 1};
    return tsri_tensor_value(dim, op->bounds ? op->bounds->highest : ones);
}

bool tsri_opencl_refuse(const char **why, const char *sentence) {
    *why = sentence;
    return false;
}

/* Whether the largest index, which counts from the start of the buffer, fits into int. Panels round a
 * weight up to whole tiles of 64 x 64. */
static bool indexable(const tsr_op *op, const tsr_tensor *tensor) {
    const int64_t padding = tensor->kind == TSR_KIND_WEIGHT && tensor->rank == 2 ? 63 : 0;
    const tsri_tensor_dtype *dtype = tsri_tensor_dtype_info((tsr_dtype)tensor->dtype);
    const uint64_t begins = dtype ? tensor->origin / (uint64_t)dtype->bytes : 0;
    int64_t last = tensor->offset;
    if (begins > INT32_MAX ||
        __builtin_add_overflow(last, (int64_t)begins * (dtype ? dtype->block : 1), &last))
        return false;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        const int64_t size = tsri_opencl_highest(op, tensor->dim[i]);
        const int64_t stride = tsri_opencl_highest(op, tensor->stride[i]);
        if (size > INT32_MAX || stride > INT32_MAX)
            return false;
        if (size > 0 && __builtin_add_overflow(last, (size - 1 + padding) * stride, &last))
            return false;
    }
    /* blocks are indexed by bytes: at most 17/16 for each element */
    return last <
           (tsri_tensor_is_kept_blocks((tsr_dtype)tensor->dtype) ? INT32_MAX / 17 * 16 : INT32_MAX);
}

bool tsri_opencl_fits_index(const tsr_op *op, const char **why) {
    for (uint32_t i = 0; i < op->n_in + op->n_out; i++) {
        const tsr_tensor *tensor = i < op->n_in ? op->in[i] : op->out[i - op->n_in];
        if (tensor && !indexable(op, tensor))
            return tsri_opencl_refuse(
                why,
                "an operand ends behind element 2^31 of its buffer, and the kernel counts in 32 "
                "bits");
    }
    return true;
}

static bool fits_activation(const tsr_tensor *tensor, bool collapses, const char **why) {
    if (!tsri_opencl_is_f32(tensor))
        return tsri_opencl_refuse(why, "activations are taken as f32 only");
    return collapses ||
           tsri_opencl_refuse(why, "the rows of an operand are not evenly spaced; copy it first");
}

bool tsri_opencl_fits_rows(const tsr_tensor *tensor, const char **why) {
    int64_t stride;
    return !tensor || fits_activation(tensor, tsri_tensor_collapses(tensor, &stride), why);
}

bool tsri_opencl_fits_grouped_rows(const tsr_tensor *tensor, const char **why) {
    tsri_tensor_grouped rows;
    return !tensor || fits_activation(tensor, tsri_tensor_collapses_to_groups(tensor, &rows), why);
}

bool tsri_opencl_fits_vector(const tsr_tensor *tensor, const char **why) {
    if (!tensor)
        return true;
    if (!tsri_opencl_is_float(tensor))
        return tsri_opencl_refuse(why, "a weight or bias is taken as f32, f16 or bf16 only");
    if (!tsri_tensor_is_packed(tensor))
        return tsri_opencl_refuse(why, "a weight or bias is not contiguous; copy it first");
    return true;
}

bool tsri_opencl_fits_weight(const tsr_tensor *tensor, const char **why) {
    if (!tsri_tensor_is_kept_blocks((tsr_dtype)tensor->dtype))
        return tsri_opencl_fits_vector(tensor, why);
    if (!tsri_tensor_is_packed(tensor))
        return tsri_opencl_refuse(
            why, "a weight of blocks is not contiguous, and blocks can't be copied first");
    return true;
}

int64_t tsri_opencl_row_stride(const tsr_tensor *tensor) {
    int64_t stride = 0;
    if (tensor && !tsri_tensor_collapses(tensor, &stride))
        return 0;
    return stride;
}

tsri_tensor_grouped tsri_opencl_grouped_rows(const tsr_tensor *tensor) {
    tsri_tensor_grouped rows = {.group = 1};
    if (tensor)
        tsri_tensor_collapses_to_groups(tensor, &rows);
    return rows;
}

tsr_tensor tsri_opencl_broadcast(const tsr_tensor *tensor, const tsr_tensor *to) {
    tsr_tensor view = *tensor;
    view.rank = to->rank;
    for (uint32_t i = 0; i < to->rank; i++) {
        const uint32_t missing = to->rank - tensor->rank;
        const bool repeats = i < missing || (tsri_tensor_is_one(tensor->dim[i - missing]) &&
                                             !tsri_tensor_is_one(to->dim[i]));
        view.dim[i] = to->dim[i];
        view.stride[i] = repeats ? tsri_tensor_const(0) : tensor->stride[i - missing];
    }
    return view;
}

bool tsri_opencl_by_fours(const tsr_tensor *tensor, int64_t columns, int64_t pitch) {
    return columns % 4 == 0 && pitch % 4 == 0 && tensor->offset % 4 == 0;
}

void tsri_opencl_define_operand(tsri_opencl_defines *defines, const char *name,
                                const tsr_tensor *tensor) {
    static const tsr_tensor missing = {.struct_size = sizeof missing, .dtype = TSR_F32};
    tsri_opencl_define_dtype(defines, name, tensor ? tensor : &missing);
}

void tsri_opencl_arg_inputs(tsri_opencl_launch *launch, const tsr_op *op, uint32_t first,
                            uint32_t last) {
    const tsri_tensor_operands *all = tsri_tensor_operands_of(op->id);
    for (uint32_t i = first; i <= last; i++)
        tsri_opencl_arg_tensor(launch, all->in[i].name, tsri_opencl_in(op, i));
}

void tsri_opencl_arg_given(tsri_opencl_launch *launch, const tsr_op *op, uint32_t first,
                           uint32_t last) {
    for (uint32_t i = first; i <= last; i++)
        if (tsri_opencl_in(op, i))
            tsri_opencl_arg_inputs(launch, op, i, i);
}

void tsri_opencl_arg_results(tsri_opencl_launch *launch, const tsr_op *op, uint32_t first,
                             uint32_t last) {
    const tsri_tensor_operands *all = tsri_tensor_operands_of(op->id);
    for (uint32_t i = first; i <= last; i++)
        tsri_opencl_arg_tensor(launch, all->out[i].name, tsri_opencl_out(op, i));
}

/* Hexadecimal, so that no digit is lost. */
static void define_float(tsri_opencl_defines *defines, const char *name, double value) {
    char text[32];
    tsri_base_print(text, sizeof text, "%af", value);
    tsri_opencl_define_text(defines, name, text);
}

void tsri_opencl_define_gates(tsri_opencl_defines *defines, const tsr_activation_attrs *form) {
    const bool plain = form->limit == 0 && form->alpha == 0 && form->shift == 0;
    tsri_opencl_define_int(defines, "ACT", (int)form->activation);
    tsri_opencl_define_int(defines, "GLU_FORM", !plain);
    if (plain)
        return;
    define_float(defines, "GLU_LIMIT",
                 form->limit != 0 && form->limit < FLT_MAX ? form->limit : FLT_MAX);
    define_float(defines, "GLU_ALPHA", form->alpha != 0 ? form->alpha : 1);
    define_float(defines, "GLU_SHIFT", form->shift);
}

void tsri_opencl_define_product_gates(tsri_opencl_defines *defines,
                                      const tsr_glu_linear_attrs *attrs) {
    const tsr_activation_attrs form = {.struct_size = sizeof form,
                                       .activation = attrs->activation,
                                       .limit = attrs->limit,
                                       .alpha = attrs->alpha,
                                       .shift = attrs->shift};
    tsri_opencl_define_gates(defines, &form);
}

void tsri_opencl_arg_operands(tsri_opencl_launch *launch, const tsr_op *op) {
    const tsri_tensor_operands *all = tsri_tensor_operands_of(op->id);
    tsri_opencl_arg_inputs(launch, op, 0, all->n_in - 1);
    if (all->n_out)
        tsri_opencl_arg_results(launch, op, 0, all->n_out - 1);
}

static void arg_of(tsri_opencl_launch *launch, const char *name, const char *what, int64_t value) {
    char full[32];
    snprintf(full, sizeof full, "%s_%s", name, what);
    tsri_opencl_arg_int(launch, full, value);
}

void tsri_opencl_arg_row(tsri_opencl_launch *launch, const char *name, const tsr_tensor *tensor) {
    arg_of(launch, name, "row", tsri_opencl_row_stride(tensor));
}

void tsri_opencl_arg_grouped_rows(tsri_opencl_launch *launch, const char *name,
                                  const tsr_tensor *tensor) {
    const tsri_tensor_grouped rows = tsri_opencl_grouped_rows(tensor);
    arg_of(launch, name, "row", rows.stride);
    arg_of(launch, name, "group", rows.group);
    arg_of(launch, name, "gap", rows.gap);
}

void tsri_opencl_arg_leading_strides(tsri_opencl_launch *launch, const char *name,
                                     const char *letters, const tsr_tensor *tensor) {
    for (uint32_t i = 0; letters[i]; i++) {
        char full[32];
        snprintf(full, sizeof full, "%s%c", name, letters[i]);
        tsri_opencl_arg_dim(launch, full, tensor ? tensor->stride[i] : tsri_tensor_const(0));
    }
}

bool tsri_opencl_fits_vectors(const tsri_opencl_facts *facts, const char **why) {
    return (facts->cpu && facts->vector16) ||
           tsri_opencl_refuse(why, "made for CPUs: its vectors have 16 elements");
}
