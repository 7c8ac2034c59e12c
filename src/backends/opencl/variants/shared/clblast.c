/* backends/opencl/variants/shared/clblast.c - matrix products by CLBlast, whose library is opened
 * when an op asks for it first: neither building nor loading this backend needs it. */
#include "backends/opencl/variants/shared/clblast.h"
#include "backends/opencl/bind/arguments.h"
#include "backends/opencl/device/failure.h"
#include "backends/opencl/variants/shared/group.h"
#include "backends/opencl/variants/shared/weighted.h"
#include "base/error.h"
#include "base/system/system.h"
#include "tensor/convert.h"

#include <string.h>

TSRI_OPERANDS(linear); /* glu_linear has the same, but for the residual */

/* The numbers of clblast_c.h. */
enum { ROW_MAJOR = 101, NOT_TRANSPOSED = 111, TRANSPOSED = 112 };

/* The functions of clblast_c.h that are called; its enums are ints. Their soname promises that
 * they stay as they are. */
static struct {
    int (*sgemm)(int layout, int trans_a, int trans_b, size_t m, size_t n, size_t k, float alpha,
                 cl_mem a, size_t a0, size_t a_row, cl_mem b, size_t b0, size_t b_row, float beta,
                 cl_mem c, size_t c0, size_t c_row, cl_command_queue *queue, cl_event *event);
    int (*clear_cache)(void);
} clblast;

/* The library stays open: its programs are freed by clear_cache. */
static void open_library(void) {
    void *library = tsri_system_library_open_lazily("libclblast.so.1");
    void *sgemm = library ? tsri_system_library_symbol(library, "CLBlastSgemm") : NULL;
    void *clear_cache = library ? tsri_system_library_symbol(library, "CLBlastClearCache") : NULL;
    if (!sgemm || !clear_cache) {
        if (library)
            tsri_system_library_close(library);
        return;
    }
    memcpy(&clblast.clear_cache, &clear_cache, sizeof clear_cache); /* ISO C has no such cast */
    memcpy(&clblast.sgemm, &sgemm, sizeof sgemm);
}

static bool is_installed(const char **why) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_library);
    return clblast.sgemm ||
           tsri_opencl_refuse(why, "libclblast.so.1 is not installed (Debian: libclblast1)");
}

enum {
    LEADING = TSR_MAX_RANK - 2,
    SMALLEST_GROUP = 64,    /* that CLBlast's parameters for unknown devices have */
    LOCAL_MEMORY = 32 << 10 /* what OpenCL promises, and CLBlast's parameters count on */
};

/* A matrix whose rows are contiguous and a constant step apart. */
static bool is_matrix(const tsr_tensor *tensor) {
    return tensor->rank >= 2 && tsri_tensor_is_one(tensor->stride[tensor->rank - 1]) &&
           !tensor->stride[tensor->rank - 2].symbols && tensor->stride[tensor->rank - 2].factor > 0;
}

static bool fits_matmul(const tsr_op *op, const char **why) {
    const tsr_tensor *operands[] = {op->in[0], op->in[1], op->out[0]};
    for (int i = 0; i < 3; i++) {
        if (operands[i]->dtype != TSR_F32)
            return tsri_opencl_refuse(why, "takes f32 only");
        if (!is_matrix(operands[i]))
            return tsri_opencl_refuse(
                why, "takes matrices with contiguous rows a constant step apart only");
    }
    return true;
}

static bool fits_linear(const tsr_op *op, const char **why) {
    const tsr_tensor *x = op->in[X], *w = op->in[W], *bias = tsri_opencl_in(op, BIAS),
                     *residual = tsri_opencl_in(op, RESIDUAL), *y = op->out[Y];
    int64_t step;
    if (tsri_opencl_norm_of(op))
        return tsri_opencl_refuse(why, "takes x as it is; this op has a norm of it");
    if (w->dtype != TSR_F32 || w->rank != 2 || (bias && bias->dtype != TSR_F32))
        return tsri_opencl_refuse(why, "takes weights kept as f32 only (--dtype f32)");
    if (!tsri_tensor_is_packed(w) || (bias && !tsri_tensor_is_packed(bias)))
        return tsri_opencl_refuse(why, "takes contiguous weights only");
    const tsr_tensor *rows[] = {x, y, residual};
    for (int i = 0; i < 3; i++)
        if (rows[i] && (rows[i]->dtype != TSR_F32 || !tsri_tensor_collapses(rows[i], &step)))
            return tsri_opencl_refuse(why, "takes f32 rows a constant step apart only");
    return true;
}

bool tsri_opencl_clblast_fits(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                              const tsr_op *op, const char **why) {
    if (!facts->common.compiler)
        return tsri_opencl_refuse(why, "the device has no compiler");
    if (!tsri_opencl_fits_group(facts, SMALLEST_GROUP, LOCAL_MEMORY, why))
        return false;
    return (variant->op == TSR_OP_MATMUL ? fits_matmul(op, why) : fits_linear(op, why)) &&
           is_installed(why);
}

void tsri_opencl_clblast_define(const tsri_opencl_variant *variant, const tsr_op *op,
                                tsri_opencl_defines *defines) {
    if (variant->op == TSR_OP_MATMUL)
        return;
    tsri_opencl_define_activation(op, defines);
    tsri_opencl_define_int(defines, "HAS_BIAS", tsri_opencl_in(op, BIAS) != NULL);
    if (variant->op == TSR_OP_LINEAR)
        tsri_opencl_define_int(defines, "HAS_RESIDUAL", tsri_opencl_in(op, RESIDUAL) != NULL);
}

void tsri_opencl_clblast_bind(const tsri_opencl_variant *variant, const tsr_op *op,
                              tsri_opencl_launch *launch) {
    const tsr_tensor *y = op->out[Y];
    const tsr_dim rows = tsri_tensor_rows(y), columns = tsri_tensor_columns(y);
    const tsr_dim products =
        tsri_tensor_times(rows, tsri_tensor_const(tsri_opencl_weight_outputs(op)));
    tsri_opencl_arg_scratch(launch, "p",
                            tsri_tensor_times(products, tsri_tensor_const(sizeof(float))));
    tsri_opencl_arg_tensor(launch, "bias", tsri_opencl_in(op, BIAS));
    if (variant->op == TSR_OP_LINEAR)
        tsri_opencl_arg_tensor(launch, "residual", tsri_opencl_in(op, RESIDUAL));
    tsri_opencl_arg_tensor(launch, "y", y);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "R", rows);
    tsri_opencl_arg_int(launch, variant->op == TSR_OP_LINEAR ? "N" : "F", columns.factor);
    if (variant->op == TSR_OP_LINEAR)
        tsri_opencl_arg_row(launch, "residual", tsri_opencl_in(op, RESIDUAL));
    tsri_opencl_arg_row(launch, "y", y);
    tsri_opencl_grid(launch, 0, columns, 1);
    tsri_opencl_grid(launch, 1, rows, 1);
}

typedef struct product {
    bool trans_a, trans_b;
    size_t m, n, k;
    cl_mem a, b, c;
    size_t a0, b0, c0, a_row, b_row, c_row;
    float alpha;
} product;

static tsr_status multiply(tsr_dev *dev, const product *p, cl_command_queue queue,
                           cl_event *event) {
    dev->provider_used = true;
    const int code = clblast.sgemm(ROW_MAJOR, p->trans_a ? TRANSPOSED : NOT_TRANSPOSED,
                                   p->trans_b ? TRANSPOSED : NOT_TRANSPOSED, p->m, p->n, p->k,
                                   p->alpha, p->a, p->a0, p->a_row, p->b, p->b0, p->b_row, 0.0f,
                                   p->c, p->c0, p->c_row, &queue, event);
    if (code == CL_SUCCESS)
        return TSR_OK;
    /* The driver's codes are passed on; CLBlast's own are only named in the message. */
    if (code > -64 && code < 0)
        return tsri_opencl_fail(dev, (cl_int)code, "CLBlastSgemm");
    return tsri_base_fail(TSR_E_DEVICE, "CLBlastSgemm of %zu x %zu x %zu: status %d", p->m, p->n,
                          p->k, code);
}

static size_t first_of(const tsr_tensor *tensor) {
    uint64_t element = 1;
    return tsri_tensor_bytes((tsr_dtype)tensor->dtype, 1, &element)
               ? (size_t)(tensor->origin / element) + (size_t)tensor->offset
               : 0;
}

/* The elements from the first matrix of `tensor` to the one that belongs to matrix `index` of y. */
static size_t step_to(const tsr_tensor *tensor, const tsr_tensor *y, const int64_t index[LEADING],
                      const int64_t sizes[TSR_SYMBOLS]) {
    int64_t at = 0;
    const uint32_t missing = y->rank - tensor->rank;
    for (uint32_t i = missing; i + 2 < y->rank; i++) {
        const tsr_dim size = tensor->dim[i - missing];
        at += tsri_tensor_value(size, sizes) == 1
                  ? 0
                  : index[i] * tsri_tensor_value(tensor->stride[i - missing], sizes);
    }
    return (size_t)at;
}

static tsr_status enqueue_matmul(const tsr_op *op, cl_command_queue queue,
                                 const int64_t sizes[TSR_SYMBOLS], cl_event *event) {
    const tsr_matmul_attrs *attrs = op->attrs;
    const tsr_tensor *a = op->in[0], *b = op->in[1], *y = op->out[0];
    int64_t index[LEADING] = {0}, matrices = 1;
    product p = {.trans_a = attrs->trans_a != 0,
                 .trans_b = attrs->trans_b != 0,
                 .alpha = attrs->alpha != 0 ? attrs->alpha : 1};
    p.m = (size_t)tsri_tensor_value(y->dim[y->rank - 2], sizes);
    p.n = (size_t)tsri_tensor_value(y->dim[y->rank - 1], sizes);
    p.k = (size_t)tsri_tensor_value(a->dim[a->rank - (p.trans_a ? 2 : 1)], sizes);
    p.a = a->buf->mem;
    p.b = b->buf->mem;
    p.c = y->buf->mem;
    p.a_row = (size_t)a->stride[a->rank - 2].factor;
    p.b_row = (size_t)b->stride[b->rank - 2].factor;
    p.c_row = (size_t)y->stride[y->rank - 2].factor;
    for (uint32_t i = 0; i + 2 < y->rank; i++)
        matrices *= tsri_tensor_value(y->dim[i], sizes);
    if (!p.m || !p.n || !p.k)
        return TSR_OK;
    for (int64_t matrix = 0; matrix < matrices; matrix++) {
        p.a0 = first_of(a) + step_to(a, y, index, sizes);
        p.b0 = first_of(b) + step_to(b, y, index, sizes);
        p.c0 = first_of(y) + step_to(y, y, index, sizes);
        TRY(multiply(y->buf->dev, &p, queue, matrix + 1 == matrices ? event : NULL));
        for (int axis = (int)y->rank - 3;
             axis >= 0 && ++index[axis] == tsri_tensor_value(y->dim[axis], sizes); axis--)
            index[axis] = 0;
    }
    return TSR_OK;
}

/* Computes the product into scratch; the op's kernel then adds the bias and the rest. */
static tsr_status enqueue_linear(const tsr_op *op, cl_command_queue queue,
                                 const int64_t sizes[TSR_SYMBOLS], cl_event *event) {
    const tsr_tensor *x = op->in[X], *w = op->in[W];
    tsr_dev *dev = x->buf->dev;
    product p = {.trans_b = tsri_opencl_weighted_attrs(op)->trans_w != 0, .alpha = 1};
    p.m = (size_t)tsri_tensor_value(tsri_tensor_rows(op->out[Y]), sizes);
    p.n = (size_t)tsri_opencl_weight_outputs(op);
    p.k = (size_t)tsri_opencl_weight_depth(op);
    p.a = x->buf->mem;
    p.b = w->buf->mem;
    p.c = dev->scratch;
    p.a0 = first_of(x);
    p.b0 = first_of(w);
    p.a_row = (size_t)tsri_opencl_row_stride(x);
    p.b_row = p.trans_b ? p.k : p.n;
    p.c_row = p.n;
    /* The step of a single row may be less than its length; CLBlast needs at least the length. */
    if (p.a_row < p.k)
        p.a_row = p.k;
    return p.m ? multiply(dev, &p, queue, event) : TSR_OK;
}

tsr_status tsri_opencl_clblast_enqueue(const tsri_opencl_variant *variant, const tsr_op *op,
                                       cl_command_queue queue, const int64_t sizes[TSR_SYMBOLS],
                                       cl_event *event) {
    return variant->op == TSR_OP_MATMUL ? enqueue_matmul(op, queue, sizes, event)
                                        : enqueue_linear(op, queue, sizes, event);
}

void tsri_opencl_clblast_forget(tsr_dev *dev) {
    /* CLBlast keeps programs by the context's address, and a later context may get the same
     * address. */
    if (dev->provider_used)
        clblast.clear_cache();
    dev->provider_used = false;
}
