/* backends/opencl/choose/layout.c - chooses one layout for all uses of a weight. */
#include "backends/opencl/choose/layout.h"
#include "backends/opencl/bind/operation.h"
#include "backends/opencl/choose/select.h"
#include "backends/opencl/device/failure.h"
#include "backends/opencl/device/staging.h"
#include "backends/opencl/variants/variants.h"
#include "base/error.h"
#include "base/memory.h"
#include "tensor/convert.h"
#include "tensor/parallel.h"
#include "tensor/shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LAYOUTS = 16 };

/* Lists every layout that some variant reads; the first is NULL, plain rows. */
static size_t list_layouts(const tsri_opencl_layout *list[MAX_LAYOUTS]) {
    size_t n = 1;
    list[0] = NULL;
    for (int op = 1; op < TSR_OP_COUNT; op++)
        for (const tsri_opencl_variant *variant = tsri_opencl_variants_of((tsr_op_id)op);
             variant && variant->name; variant++) {
            bool known = !variant->layout;
            for (size_t i = 1; i < n && !known; i++)
                known = list[i] == variant->layout;
            if (!known && n < MAX_LAYOUTS)
                list[n++] = variant->layout;
        }
    return n;
}

/* The sum of the best variants' scores over the buckets, for the op with its weight in `layout`; -1
 * where a bucket has no variant. A forced variant has to fit in some bucket only: a plan whose
 * bucket it does not fit says so itself. */
static int64_t score_use(tsr_dev *dev, const tsr_weight_use *use, const tsri_opencl_layout *layout,
                         const tsri_opencl_forced *forced) {
    tsri_opencl_operation operation;
    tsr_bounds buckets[TSRI_OPENCL_BUCKETS];
    int64_t total = 0;
    int served = 0;
    if (tsri_opencl_operation_copy(use->op, &operation) != TSR_OK)
        return -1;
    operation.in[use->operand]->layout = layout ? layout->id : 0;
    const tsri_opencl_wish wanted = tsri_opencl_forced_variant(forced, (tsr_op_id)use->op->id);
    tsri_opencl_buckets(&operation.bounds, buckets);
    for (int i = 0; i < TSRI_OPENCL_BUCKETS; i++) {
        operation.bounds = buckets[i];
        const tsri_opencl_variant *variant = tsri_opencl_best(dev, &operation.op, &wanted);
        total += variant ? tsri_opencl_score_of(dev, variant, &operation.op) : 0;
        served += variant != NULL;
    }
    tsri_opencl_operation_clear(&operation);
    return served == TSRI_OPENCL_BUCKETS || (wanted.variant && served) ? total : -1;
}

static int64_t score_layout(tsr_dev *dev, const tsr_weight_use *const *uses, size_t n,
                            const tsri_opencl_layout *layout, const tsri_opencl_forced *forced) {
    int64_t total = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t score = score_use(dev, uses[i], layout, forced);
        if (score < 0)
            return -1;
        total += score;
    }
    return total;
}

static tsr_status check_uses(const tsr_weight_use *const *uses, size_t n) {
    if (!n)
        return tsri_base_fail(TSR_E_ARGUMENT, "a layout was asked for a weight that no op uses");
    for (size_t i = 0; i < n; i++) {
        const tsr_op *op = uses[i]->op;
        if (uses[i]->operand >= op->n_in || !op->in[uses[i]->operand])
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "use %zu of a weight names operand %u: the op has %u operands, "
                                  "and this one must be given",
                                  i, uses[i]->operand, op->n_in);
    }
    return TSR_OK;
}

tsr_status tsri_opencl_weight_layout(tsr_dev *dev, const tsr_weight_use *const *uses, size_t n,
                                     const char *kernels, tsr_layout *layout) {
    tsri_opencl_forced forced;
    const tsri_opencl_layout *list[MAX_LAYOUTS], *best = NULL;
    bool updated = false;
    TRY(check_uses(uses, n));
    TRY(tsri_opencl_force(kernels, &forced));
    const tsr_tensor *weight = uses[0]->op->in[uses[0]->operand];
    const int64_t none[TSR_SYMBOLS] = {0};
    const int64_t columns = weight->rank ? tsri_tensor_value(tsri_tensor_columns(weight), none) : 1;
    const int64_t rows = weight->rank ? tsri_tensor_value(tsri_tensor_rows(weight), none) : 1;
    uint64_t elements = 0, bytes = 0;
    if (rows < 0 || columns < 0 ||
        __builtin_mul_overflow((uint64_t)rows, (uint64_t)columns, &elements) ||
        !tsri_tensor_bytes((tsr_dtype)weight->dtype, elements, &bytes))
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "the bytes of a weight of %" PRId64 " x %" PRId64
                              " %s can't be counted",
                              rows, columns, tsri_tensor_dtype_name((tsr_dtype)weight->dtype));
    for (size_t i = 0; i < n; i++)
        updated |= uses[i]->updated != 0;
    int64_t best_score = score_layout(dev, uses, n, NULL, &forced);
    const size_t n_layouts = updated ? 1 : list_layouts(list);
    for (size_t i = 1; i < n_layouts; i++) {
        const int64_t score = score_layout(dev, uses, n, list[i], &forced);
        if (score > best_score) {
            best_score = score;
            best = list[i];
        }
    }
    const uint32_t size = layout->struct_size && layout->struct_size < sizeof *layout
                              ? layout->struct_size
                              : sizeof *layout;
    tsr_layout answer = {.struct_size = size,
                         .id = best ? best->id : 0,
                         .dtype = weight->dtype,
                         .row_block = best ? best->row_block : 1,
                         .rows = rows,
                         .columns = columns,
                         .bytes = best ? best->bytes(rows, columns, weight->dtype) : bytes};
    snprintf(answer.name, sizeof answer.name, "%s", best ? best->name : "plain");
    memcpy(layout, &answer, size);
    return TSR_OK;
}

tsr_layout tsri_opencl_plain_layout(const tsr_layout *layout) {
    tsr_layout plain = {.struct_size = sizeof plain,
                        .dtype = layout->dtype,
                        .row_block = 1,
                        .rows = layout->rows,
                        .columns = layout->columns,
                        .name = "plain"};
    (void)!tsri_tensor_bytes((tsr_dtype)layout->dtype,
                             (uint64_t)layout->rows * (uint64_t)layout->columns, &plain.bytes);
    return plain;
}

/* Finds the place of the rows in the buffer, and checks that they fit the layout and the buffer. */
static tsr_status place(const tsr_dev *dev, const tsr_layout *layout, const tsr_rows *rows,
                        const tsr_buf *buf, const tsri_opencl_layout **found, uint64_t *offset,
                        uint64_t *bytes) {
    const tsri_opencl_layout *own = *found = tsri_opencl_layout_by_id(layout->id);
    if (layout->id && !own)
        return tsri_base_fail(TSR_E_UNSUPPORTED, "this backend does not know weight layout %u",
                              layout->id);
    if (!buf || buf->dev != dev)
        return tsri_base_fail(TSR_E_ARGUMENT, "a weight's buffer belongs to another device");
    if (rows->columns != layout->columns || rows->first < 0 || rows->count < 0 ||
        rows->first > layout->rows - rows->count)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "rows %" PRId64 " to %" PRId64 " of %" PRId64
                              " columns are outside a weight of %" PRId64 " x %" PRId64,
                              rows->first, rows->first + rows->count, rows->columns, layout->rows,
                              layout->columns);
    if (layout->row_block > 1 &&
        (rows->first % layout->row_block ||
         (rows->count % layout->row_block && rows->first + rows->count != layout->rows)))
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "rows %" PRId64 " to %" PRId64
                              " can't be stored alone: layout %s takes multiples of %u rows",
                              rows->first, rows->first + rows->count, layout->name,
                              layout->row_block);
    if (own)
        own->span(layout->rows, layout->columns, layout->dtype, rows->first, rows->count, offset,
                  bytes);
    else if (!tsri_tensor_bytes((tsr_dtype)layout->dtype, (uint64_t)(rows->first * layout->columns),
                                offset) ||
             !tsri_tensor_bytes((tsr_dtype)layout->dtype, (uint64_t)(rows->count * layout->columns),
                                bytes))
        return tsri_base_fail(TSR_E_ARGUMENT, "the bytes of a weight's rows of %s can't be counted",
                              tsri_tensor_dtype_name((tsr_dtype)layout->dtype));
    if (*offset > buf->bytes || *bytes > buf->bytes - *offset)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "%" PRIu64 " bytes at %" PRIu64
                              " reach beyond a weight's buffer of %" PRIu64 " bytes",
                              *bytes, *offset, buf->bytes);
    return TSR_OK;
}

/* Rows on their way into a layout, by several threads. */
typedef struct packing {
    const tsr_layout *layout;
    const tsri_opencl_layout *own;
    int64_t first;     /* the row that `plain` begins with */
    const char *plain; /* rows in the layout's dtype */
    uint64_t row_bytes;
    char *out; /* the bytes of the buffer from `offset` on */
    uint64_t offset;
} packing;

static tsr_status pack_part(void *data, int64_t first, int64_t end) {
    const packing *p = data;
    uint64_t offset = 0, bytes = 0;
    p->own->span(p->layout->rows, p->layout->columns, p->layout->dtype, p->first + first,
                 end - first, &offset, &bytes);
    p->own->store(p->layout->columns, p->layout->dtype, end - first,
                  p->plain + (uint64_t)first * p->row_bytes, p->out + (offset - p->offset));
    return TSR_OK;
}

/* Packs rows where they stay in the buffer, on a CPU; elsewhere into memory of the host, which is
 * then uploaded. */
static tsr_status pack(tsr_dev *dev, const tsr_buf *buf, packing *p, int64_t count,
                       uint64_t bytes) {
    void *packed = NULL;
    cl_int code = CL_SUCCESS;
    const unsigned threads =
        tsri_tensor_threads(dev->facts.cpu ? dev->facts.common.compute_units : 0, bytes);
    const bool in_place = dev->facts.cpu && dev->facts.common.unified_memory;
    if (in_place) {
        dev->busy = true;
        p->out = clEnqueueMapBuffer(dev->queue, buf->mem, CL_TRUE, CL_MAP_WRITE, (size_t)p->offset,
                                    (size_t)bytes, 0, NULL, NULL, &code);
        if (!p->out)
            return tsri_opencl_fail(dev, code, "writing a weight");
    } else {
        TRY(tsri_base_new_aligned((size_t)bytes, &packed));
        p->out = packed;
    }
    tsr_status status = tsri_tensor_parallel(threads, count, p->own->row_block, pack_part, p);
    if (in_place)
        code = clEnqueueUnmapMemObject(dev->queue, buf->mem, p->out, 0, NULL, NULL);
    else if (status == TSR_OK)
        status = tsri_opencl_upload(dev, buf->mem, (size_t)p->offset, (size_t)bytes, packed);
    free(packed);
    return code == CL_SUCCESS ? status : tsri_opencl_fail(dev, code, "writing a weight");
}

tsr_status tsri_opencl_weight_store(tsr_dev *dev, const tsr_layout *layout, const tsr_rows *rows,
                                    tsr_buf *buf) {
    const tsri_opencl_layout *own;
    uint64_t offset = 0, bytes = 0, plain = 0;
    void *converted = NULL;
    tsr_status status = TSR_OK;
    TRY(tsri_opencl_check(dev));
    TRY(place(dev, layout, rows, buf, &own, &offset, &bytes));
    const size_t n = (size_t)(rows->count * rows->columns);
    const void *data = rows->data;
    if (!n)
        return TSR_OK;
    if (!tsri_tensor_bytes((tsr_dtype)layout->dtype, n, &plain))
        return tsri_base_fail(TSR_E_ARGUMENT, "the bytes of %zu elements can't be counted", n);
    if (rows->dtype != layout->dtype) {
        TRY(tsri_base_new_aligned((size_t)plain, &converted));
        status = tsri_tensor_convert((tsr_dtype)layout->dtype, converted, (tsr_dtype)rows->dtype,
                                     rows->data, n);
        data = converted;
    }
    packing p = {.layout = layout,
                 .own = own,
                 .first = rows->first,
                 .plain = data,
                 .row_bytes = plain / (uint64_t)rows->count,
                 .offset = offset};
    if (status == TSR_OK)
        status = own ? pack(dev, buf, &p, rows->count, bytes)
                     : tsri_opencl_upload(dev, buf->mem, (size_t)offset, (size_t)bytes, data);
    if (status == TSR_OK && own && buf->plain) {
        const tsr_layout second = tsri_opencl_plain_layout(layout);
        status = tsri_opencl_weight_store(dev, &second, rows, buf->plain);
    }
    free(converted);
    return status;
}

tsr_status tsri_opencl_weight_load(tsr_dev *dev, const tsr_layout *layout, tsr_buf *buf,
                                   tsr_rows *rows) {
    const tsri_opencl_layout *own;
    uint64_t offset = 0, bytes = 0, plain = 0;
    void *stored = NULL, *unpacked = NULL;
    TRY(tsri_opencl_check(dev));
    TRY(place(dev, layout, rows, buf, &own, &offset, &bytes));
    const size_t n = (size_t)(rows->count * rows->columns);
    if (!n)
        return TSR_OK;
    if (!tsri_tensor_bytes((tsr_dtype)layout->dtype, n, &plain))
        return tsri_base_fail(TSR_E_ARGUMENT, "the bytes of %zu elements can't be counted", n);
    TRY(tsri_base_new_aligned((size_t)bytes, &stored));
    tsr_status status = own ? tsri_base_new_aligned((size_t)plain, &unpacked) : TSR_OK;
    if (status == TSR_OK) {
        dev->busy = true;
        const cl_int code = clEnqueueReadBuffer(dev->queue, buf->mem, CL_TRUE, (size_t)offset,
                                                (size_t)bytes, stored, 0, NULL, NULL);
        if (code != CL_SUCCESS)
            status = tsri_opencl_fail(dev, code, "reading a weight");
    }
    if (status == TSR_OK && own)
        own->load(layout->columns, layout->dtype, rows->count, stored, unpacked);
    if (status == TSR_OK)
        status = tsri_tensor_convert((tsr_dtype)rows->dtype, rows->data, (tsr_dtype)layout->dtype,
                                     own ? unpacked : stored, n);
    free(stored);
    free(unpacked);
    return status;
}
