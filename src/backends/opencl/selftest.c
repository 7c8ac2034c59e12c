/* backends/opencl/selftest.c - a row's instance against the plain row, on the device, once per
 * driver. */
#include "backends/opencl/layout.h"
#include "backends/opencl/plan.h"
#include "base/error.h"
#include "base/memory.h"
#include "tensor/convert.h"
#include "tensor/quantize.h"
#include "tensor/shape.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPERANDS = 16, SHAPES = 3 };

/* The op on small operands: one set of buffers for the row, one for the plain row. */
typedef struct trial {
    tsr_dev *dev;
    tsri_opencl_operation operation;
    int64_t sizes[TSR_SYMBOLS];
    tsr_buf buffers[OPERANDS]; /* inputs first, then outputs */
    cl_mem dims;
    void *results[2][OPERANDS]; /* outputs of the row and of the plain row */
} trial;

/* Sizes that leave tails, within what the plan allows. */
static void choose_sizes(trial *t) {
    static const int64_t wanted[TSR_SYMBOLS] = {2, 7, 70, 7, 7};
    const tsr_bounds *bounds = &t->operation.bounds;
    for (int i = 0; i < TSR_SYMBOLS; i++) {
        int64_t n = wanted[i] > bounds->lowest[i] ? wanted[i] : bounds->lowest[i];
        t->sizes[i] = n < bounds->highest[i] ? n : bounds->highest[i];
    }
}

/* A constant size becomes `small` in every operand that has it at one of the places where the op
 * does. */
static void shrink(tsr_tensor *tensor, uint32_t from_last, int64_t small) {
    if (!tensor || tensor->rank < from_last)
        return;
    tsr_dim *dim = &tensor->dim[tensor->rank - from_last];
    if (!dim->symbols && dim->factor > small)
        dim->factor = small;
}

static tsr_tensor *in(const trial *t, uint32_t i) {
    return i < t->operation.op.n_in ? t->operation.in[i] : NULL;
}

/* Blocks are whole along the last dimension. */
static bool in_blocks(const tsr_tensor *tensor) {
    return tsri_tensor_is_kept_blocks((tsr_dtype)tensor->dtype);
}

static void shrink_linear(trial *t, int64_t depth, int64_t outputs, bool glu) {
    const tsr_linear_attrs *attrs = t->operation.attrs; /* glu_linear's begins alike */
    const int64_t stored = glu ? 2 * outputs : outputs;
    depth = in_blocks(in(t, 1)) ? depth / 32 * 32 : depth;
    shrink(in(t, 0), 1, depth);
    shrink(in(t, 1), attrs->trans_w ? 1 : 2, depth);
    shrink(in(t, 1), attrs->trans_w ? 2 : 1, stored);
    shrink(in(t, 2), 1, stored);
    shrink(in(t, 3), 1, outputs);
    shrink(t->operation.out[0], 1, outputs);
}

/* Shapes 0 and 1 are small, with and without tails; the last is the op's own. */
static void shrink_shape(trial *t, int shape) {
    static const int64_t depths[] = {130, 128}, widths[] = {70, 128}, rows[] = {67, 128};
    int64_t depth;
    if (shape >= SHAPES - 1)
        return;
    switch (t->operation.op.id) {
    case TSR_OP_LINEAR:
    case TSR_OP_GLU_LINEAR:
        shrink_linear(t, depths[shape], widths[shape], t->operation.op.id == TSR_OP_GLU_LINEAR);
        break;
    case TSR_OP_EMBED:
        shrink(in(t, 0), 2, rows[shape]);
        depth = in_blocks(in(t, 0)) ? depths[shape] / 32 * 32 : depths[shape];
        shrink(in(t, 0), 1, depth);
        shrink(t->operation.out[0], 1, depth);
        break;
    case TSR_OP_EMBED_ADD:
        shrink(in(t, 0), 2, rows[shape]);
        shrink(in(t, 0), 1, depths[shape]);
        shrink(in(t, 2), 1, depths[shape]);
        break;
    case TSR_OP_ATTENTION:
        for (uint32_t i = 1; i <= 2; i++) {
            shrink(in(t, i), 3, rows[shape]);
            shrink(in(t, i), 4, 3);
        }
        shrink(in(t, 6), 1, rows[shape]);
        shrink(in(t, 7), 1, rows[shape]);
        break;
    default:
        break;
    }
}

/* Positions, lengths, slots and ids that the op may be given. */
static int32_t choose_index(const trial *t, uint32_t operand, int64_t i) {
    const uint32_t id = t->operation.op.id;
    const tsr_tensor *first = in(t, 0), *keys = in(t, 1);
    const int64_t T = t->sizes[1];
    const tsr_tensor *state = id == TSR_OP_ATTENTION ? keys : first;
    if (id == TSR_OP_EMBED_ADD || id == TSR_OP_SCATTER) /* some more than once */
        return (int32_t)(i * i % 11 % tsri_tensor_value(first->dim[0], t->sizes));
    if (id == TSR_OP_EMBED || id == TSR_OP_GATHER) {
        const int64_t rows = tsri_tensor_value(first->dim[0], t->sizes);
        return (int32_t)((i * 7 + 1) % (rows > 0 ? rows : 1));
    }
    if (id == TSR_OP_ATTENTION || id == TSR_OP_KV_APPEND ||
        (id == TSR_OP_QKV_APPEND && operand < 8)) {
        const int64_t slots = tsri_tensor_value(state->dim[0], t->sizes),
                      S = tsri_tensor_value(state->dim[id == TSR_OP_ATTENTION ? 1 : 2], t->sizes);
        const int64_t past = S > T ? (i * 3 + 2) % (S - T + 1) : 0;
        const uint32_t first_fact = id == TSR_OP_ATTENTION ? 3 : id == TSR_OP_QKV_APPEND ? 4 : 2;
        if (operand == first_fact)
            return (int32_t)past;
        if (operand == first_fact + 1)
            return (int32_t)(past + T < S ? past + T : S);
        return (int32_t)(i % (slots > 0 ? slots : 1)); /* slot, source */
    }
    if (id == TSR_OP_ADDITIVE_ATTENTION) {
        const int64_t slots = tsri_tensor_value(keys->dim[0], t->sizes),
                      S = tsri_tensor_value(keys->dim[1], t->sizes);
        return (int32_t)(operand == 4 ? S - i % (S > 0 ? S : 1) : i % (slots > 0 ? slots : 1));
    }
    if (id == TSR_OP_ATTENTION_GRAD || id == TSR_OP_ADDITIVE_ATTENTION_GRAD) {
        const int64_t S = tsri_tensor_value(keys->dim[1], t->sizes), past = S > T ? S - T : 0;
        if (id == TSR_OP_ATTENTION_GRAD)
            return (int32_t)(operand == 6 ? past : past + T - i % 3);
        return (int32_t)(S - i % (S > 0 ? S : 1));
    }
    if (id == TSR_OP_CROSS_ENTROPY || id == TSR_OP_CROSS_ENTROPY_GRAD ||
        id == TSR_OP_KL_DIVERGENCE || id == TSR_OP_KL_DIVERGENCE_GRAD)
        return (int32_t)(i * 5 % tsri_tensor_value(first->dim[first->rank - 1], t->sizes));
    if (id == TSR_OP_SOFTMAX) {
        const int64_t S = tsri_tensor_value(first->dim[first->rank - 1], t->sizes);
        return (int32_t)(operand == 1 ? (S > T ? S - T : 0) : S);
    }
    return (int32_t)i;
}

/* Multiples of 1/8 in [-1, 1]: exact in every float type, so that sums of products are exact in
 * f32. */
static tsr_status fill(const trial *t, uint32_t operand, const tsr_tensor *tensor, size_t n,
                       void *out) {
    if (tensor->dtype == TSR_I32) {
        for (size_t i = 0; i < n; i++)
            ((int32_t *)out)[i] = choose_index(t, operand, (int64_t)i);
        return TSR_OK;
    }
    float *values = NULL;
    TRY(tsri_base_new(n ? n : 1, sizeof *values, &values));
    for (size_t i = 0; i < n; i++)
        values[i] = (float)((int)((i * 37 + operand * 11 + i / 13) % 17) - 8) / 8.0f;
    if (t->operation.op.id == TSR_OP_ADAMW && (operand == 2 || operand == 4))
        for (size_t i = 0; i < n; i++) /* roots are taken of them, and one divides */
            values[i] = 0.125f + (values[i] < 0 ? -values[i] : values[i]);
    const tsr_status status =
        tsri_tensor_convert((tsr_dtype)tensor->dtype, out, TSR_F32, values, n);
    free(values);
    return status;
}

static tsr_status new_buffer(trial *t, uint32_t place, uint64_t bytes, const void *data) {
    const tsr_buffer_spec spec = {.struct_size = sizeof spec, .bytes = bytes ? bytes : 4};
    tsr_buf *buf = NULL;
    TRY(tsri_opencl_buffer_create(t->dev, &spec, &buf));
    t->buffers[place] = *buf;
    free(buf);
    if (!data || !bytes)
        return TSR_OK;
    t->dev->busy = true;
    const cl_int code = clEnqueueWriteBuffer(t->dev->queue, t->buffers[place].mem, CL_TRUE, 0,
                                             (size_t)bytes, data, 0, NULL, NULL);
    return code == CL_SUCCESS ? TSR_OK : tsri_opencl_fail(t->dev, code, "a self-test");
}

static tsr_status place_input(trial *t, uint32_t i, const tsri_opencl_layout *layout) {
    tsr_tensor *tensor = t->operation.in[i];
    const size_t n = (size_t)tsri_tensor_value(tsri_tensor_count(tensor), t->sizes);
    uint64_t bytes = 0;
    void *plain = NULL, *stored = NULL;
    if (!tsri_tensor_bytes((tsr_dtype)tensor->dtype, n, &bytes))
        return tsri_base_fail(TSR_E_INTERNAL, "a self-test of %zu elements has no size", n);
    TRY(tsri_base_new_aligned(bytes ? (size_t)bytes : 1, &plain));
    tsr_status status = fill(t, i, tensor, n, plain);
    const void *data = plain;
    if (status == TSR_OK && layout) {
        const int64_t columns = tsri_tensor_value(tsri_tensor_columns(tensor), t->sizes);
        const int64_t rows = tsri_tensor_value(tsri_tensor_rows(tensor), t->sizes);
        bytes = layout->bytes(rows, columns, tensor->dtype);
        status = tsri_base_new_aligned(bytes ? (size_t)bytes : 1, &stored);
        if (status == TSR_OK)
            layout->store(columns, tensor->dtype, rows, plain, stored);
        data = stored;
    }
    if (status == TSR_OK)
        status = new_buffer(t, i, bytes, data);
    tensor->layout = layout ? layout->id : 0;
    free(plain);
    free(stored);
    return status;
}

/* Operands that an op writes: bit i for operand i. */
static uint32_t writes_of(uint32_t op) {
    switch (op) {
    case TSR_OP_KV_APPEND:
    case TSR_OP_ACCUMULATE:
    case TSR_OP_MATMUL_ADD:
    case TSR_OP_EMBED_ADD:
    case TSR_OP_SUMSQ:
        return 1;
    case TSR_OP_QKV_APPEND:
        return 1 | 2;
    case TSR_OP_ADAMW:
        return 1 | 2 | 4 | 32;
    case TSR_OP_SGD:
        return 1 | 2 | 16;
    default:
        return 0;
    }
}

static bool written(const trial *t, uint32_t place) {
    return place >= t->operation.op.n_in || writes_of(t->operation.op.id) >> place & 1;
}

static tsr_tensor *tensor_at(const trial *t, uint32_t place) {
    return place < t->operation.op.n_in ? t->operation.in[place]
                                        : t->operation.out[place - t->operation.op.n_in];
}

static tsr_status place_operands(trial *t, const tsri_opencl_row *row) {
    const uint32_t n = t->operation.op.n_in + t->operation.op.n_out;
    for (uint32_t i = 0; i < n; i++) {
        tsr_tensor *tensor = tensor_at(t, i);
        if (!tensor)
            continue;
        tensor->buf = &t->buffers[i];
        tensor->origin = 0;
        tensor->offset = 0;
        if (i < t->operation.op.n_in)
            TRY(place_input(t, i, (int)i == row->weight_operand ? row->layout : NULL));
        else
            TRY(new_buffer(t, i, tsri_tensor_extent(tensor, t->sizes), NULL));
    }
    return TSR_OK;
}

static void release_operands(trial *t) {
    (void)!tsri_opencl_drain(t->dev);
    if (!tsri_opencl_releasable(t->dev))
        return;
    for (uint32_t i = 0; i < OPERANDS; i++)
        if (t->buffers[i].mem) {
            clReleaseMemObject(t->buffers[i].mem);
            t->buffers[i] = (tsr_buf){0};
        }
}

/* Runs the instance on fresh operands and keeps what it wrote. */
static tsr_status run(trial *t, const tsri_opencl_instance *instance, void *results[OPERANDS]) {
    tsri_opencl_launch launch = {0};
    const uint32_t n = t->operation.op.n_in + t->operation.op.n_out;
    tsr_status status = place_operands(t, instance->row);
    if (status == TSR_OK)
        status = tsri_opencl_launch_create(t->dev, instance, &t->operation.op, t->dims, &launch);
    if (status == TSR_OK)
        status = tsri_opencl_scratch_grow(t->dev, launch.scratch_bytes);
    if (status == TSR_OK)
        status = tsri_opencl_launch_bind_scratch(&launch);
    if (status == TSR_OK)
        status = tsri_opencl_launch_run(&launch, t->sizes, NULL, NULL, NULL);
    for (uint32_t i = 0; i < n && status == TSR_OK; i++) {
        const tsr_tensor *tensor = tensor_at(t, i);
        const size_t bytes =
            tensor && written(t, i) ? (size_t)tsri_tensor_extent(tensor, t->sizes) : 0;
        if (!bytes)
            continue;
        status = tsri_base_new(bytes, 1, &results[i]);
        const cl_int code = status == TSR_OK
                                ? clEnqueueReadBuffer(t->dev->queue, t->buffers[i].mem, CL_TRUE, 0,
                                                      bytes, results[i], 0, NULL, NULL)
                                : CL_SUCCESS;
        if (code != CL_SUCCESS)
            status = tsri_opencl_fail(t->dev, code, "a self-test");
    }
    tsri_opencl_launch_release(&launch);
    release_operands(t);
    return status;
}

static double value_at(const tsr_tensor *tensor, const void *data, size_t i) {
    switch (tensor->dtype) {
    case TSR_F16:
        return (double)tsri_tensor_f16_to_f32(((const uint16_t *)data)[i]);
    case TSR_BF16:
        return (double)tsri_tensor_bf16_to_f32(((const uint16_t *)data)[i]);
    case TSR_I32:
        return (double)((const int32_t *)data)[i];
    default:
        return (double)((const float *)data)[i];
    }
}

/* Largest difference that two right rows may show: exact integers, rounding of the type and of
 * another order of sums. */
static double allowed(uint32_t dtype, double largest) {
    const double unit = dtype == TSR_I32    ? 0
                        : dtype == TSR_BF16 ? 8e-3
                        : dtype == TSR_F16  ? 1e-3
                                            : 2e-5;
    return unit * (largest > 1 ? largest : 1);
}

/* "" where they agree, else what differs. */
static void compare(const trial *t, char *verdict, size_t size) {
    const uint32_t n = t->operation.op.n_in + t->operation.op.n_out;
    verdict[0] = 0;
    for (uint32_t place = 0; place < n && !verdict[0]; place++) {
        const tsr_tensor *tensor = tensor_at(t, place);
        const void *got = t->results[0][place], *want = t->results[1][place];
        if (!got || !want)
            continue;
        const size_t count = (size_t)tsri_tensor_value(tsri_tensor_count(tensor), t->sizes);
        double largest = 0;
        for (size_t i = 0; i < count; i++)
            largest = fmax(largest, fabs(value_at(tensor, want, i)));
        const double bound = allowed(tensor->dtype, largest);
        for (size_t i = 0; i < count && !verdict[0]; i++) {
            const double a = value_at(tensor, got, i), b = value_at(tensor, want, i);
                        if (!(fabs(a - b) <= bound) && !(isinf(b) && a == b) && !(isnan(a) && isnan(b)))
                snprintf(verdict, size,
                         "self-test: element %zu is %.9g and the plain row gives %.9g", i, a, b);
        }
    }
}

/* A small case of the op for which the row is the same instance, and the plain row's instance.
 * false: none. */
static tsr_status prepare(trial *t, const tsri_opencl_instance *instance, const tsr_op *op,
                          int shape, tsri_opencl_instance **plain, bool *usable) {
    const tsri_opencl_row *rows[TSRI_OPENCL_MAX_ROWS];
    const size_t n = tsri_opencl_candidates(t->dev, op, rows);
    tsri_opencl_instance *same = NULL;
    const char *why;
    *usable = false;
    TRY(tsri_opencl_operation_copy(op, &t->operation));
    choose_sizes(t);
    shrink_shape(t, shape);
    for (uint32_t i = 0; i < op->n_in + op->n_out; i++) {
        tsr_tensor *tensor = tensor_at(t, i);
        if (tensor) {
            tsri_tensor_pack(tensor);
            tensor->offset = 0;
        }
    }
    if (op->n_in + op->n_out > OPERANDS ||
        !tsri_opencl_fits(t->dev, instance->row, &t->operation.op, false, &why))
        return TSR_OK;
    /* At other sizes other values may be in force. */
    tsri_opencl_wish same_values = {.row = instance->row};
    for (int i = 0; i < TSRI_OPENCL_TUNABLES; i++) {
        same_values.set[i] = true;
        same_values.value[i] = instance->values.value[i];
    }
    TRY(tsri_opencl_instance_of(t->dev, instance->row, &t->operation.op, &same_values, &same));
    if (same != instance)
        return TSR_OK;
    for (uint32_t i = 0; i < op->n_in; i++)
        if (t->operation.in[i])
            t->operation.in[i]->layout = 0;
    for (size_t i = 0; i < n; i++)
        if (rows[i]->plain && tsri_opencl_fits(t->dev, rows[i], &t->operation.op, false, &why)) {
            TRY(tsri_opencl_instance_of(t->dev, rows[i], &t->operation.op, NULL, plain));
            *usable = true;
            return TSR_OK;
        }
    return TSR_OK;
}

/* The first of the shapes that serves. */
static tsr_status prepare_any(trial *t, const tsri_opencl_instance *instance, const tsr_op *op,
                              tsri_opencl_instance **plain, bool *usable) {
    *usable = false;
    for (int shape = 0; shape < SHAPES && !*usable; shape++) {
        tsri_opencl_operation_clear(&t->operation);
        TRY(prepare(t, instance, op, shape, plain, usable));
    }
    return TSR_OK;
}

tsr_status tsri_opencl_self_test_needs(tsr_dev *dev, tsri_opencl_instance *instance,
                                       const tsr_op *op, tsri_opencl_instance **plain) {
    trial t = {.dev = dev};
    char *known = NULL;
    bool found = false, usable = false;
    *plain = NULL;
    if (instance->row->plain)
        instance->tested = true;
    if (instance->tested)
        return TSR_OK;
    /* A provider compiles at its first use: run now, known or not, so that no run waits for it. */
    if (!instance->row->enqueue)
        TRY(tsri_opencl_verdict_load(dev, instance, &known, &found));
    tsr_status status = TSR_OK;
    if (found) {
        instance->tested = true;
        if (*known)
            status = tsri_opencl_instance_refuse(instance, known);
    } else {
        status = prepare_any(&t, instance, op, plain, &usable);
        tsri_opencl_operation_clear(&t.operation);
    }
    free(known);
    return status;
}

static tsr_status run_both(trial *t, const tsri_opencl_instance *instance,
                           const tsri_opencl_instance *plain) {
    int32_t table[TSR_SYMBOL_SETS];
    cl_int code = CL_SUCCESS;
    tsri_tensor_dims_table(t->sizes, table);
    t->dims = clCreateBuffer(t->dev->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof table,
                             table, &code);
    if (!t->dims)
        return tsri_opencl_fail_create(t->dev, code, "clCreateBuffer");
    tsr_status status = run(t, plain, t->results[1]);
    if (status == TSR_OK)
        status = run(t, instance, t->results[0]);
    if (tsri_opencl_releasable(t->dev))
        clReleaseMemObject(t->dims);
    return status;
}

static tsr_status try_out(tsr_dev *dev, const tsri_opencl_instance *instance, const tsr_op *op,
                          char *verdict, size_t size) {
    trial t = {.dev = dev};
    tsri_opencl_instance *plain = NULL;
    bool usable = false;
    tsr_status status = prepare_any(&t, instance, op, &plain, &usable);
    if (status == TSR_OK && !usable)
        snprintf(verdict, size, "self-test: no plain row can check it");
    else if (status == TSR_OK)
        status = tsri_opencl_build(dev, &plain, 1);
    if (status == TSR_OK && usable && plain->state == TSRI_OPENCL_REFUSED)
        snprintf(verdict, size, "self-test: the plain row can't be built to check it");
    else if (status == TSR_OK && usable) {
        status = run_both(&t, instance, plain);
        if (status == TSR_OK)
            compare(&t, verdict, size);
    }
    for (int i = 0; i < 2 * OPERANDS; i++)
        free(t.results[i / OPERANDS][i % OPERANDS]);
    tsri_opencl_operation_clear(&t.operation);
    return status;
}

tsr_status tsri_opencl_self_test(tsr_dev *dev, tsri_opencl_instance *instance, const tsr_op *op) {
    char verdict[256] = "";
    const tsr_status status = try_out(dev, instance, op, verdict, sizeof verdict);
    if (status != TSR_OK && dev->poisoned)
        return status;
    if (status != TSR_OK)
        snprintf(verdict, sizeof verdict, "self-test: %.200s", tsri_base_reported());
    instance->tested = true;
    /* A driver that failed once is not a verdict on the row. */
    if (!instance->row->enqueue && (status == TSR_OK || status == TSR_E_UNSUPPORTED))
        tsri_opencl_verdict_save(dev, instance, verdict);
    if (!*verdict)
        return TSR_OK;
    tsri_opencl_log(dev->state, TSR_LOG_WARNING, "%s on %s/%s: %s; another row is used",
                    instance->name, dev->facts.common.platform, dev->facts.common.name, verdict);
    return tsri_opencl_instance_refuse(instance, verdict);
}
