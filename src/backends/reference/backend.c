/* backends/reference/backend.c - the reference backend's table: host memory, and every call is done
 * when it returns. It is the oracle that other backends are compared with, and runs the ops that a
 * device does not have. It is linked into the library, so its messages go straight to the error
 * record. */
#include "backends/reference/plan.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/system/system.h"
#include "tensor/convert.h"
#include "tensor/shape.h"

#include <stdlib.h>
#include <string.h>

const tsr_backend *tsri_reference_get(uint32_t abi);

struct tsr_state {
    const tsr_host *host;
};

static tsr_status start(const tsr_host *host, const tsr_options *options, tsr_state **out) {
    (void)options;
    tsr_state *state = NULL;
    TRY(tsri_base_new(1, sizeof *state, &state));
    state->host = host;
    *out = state;
    return TSR_OK;
}

static void stop(tsr_state *state) {
    free(state);
}

static tsr_status device_count(tsr_state *state, uint32_t *count) {
    (void)state;
    *count = 1;
    return TSR_OK;
}

static tsr_status device_facts(tsr_state *state, uint32_t index, tsr_facts *facts) {
    (void)index;
    const uint64_t memory = tsri_system_memory();
    const uint32_t size = facts->struct_size;
    const tsr_facts mine = {
        .struct_size = size,
        .type = TSR_DEVICE_OTHER, /* a CPU, but `--device cpu` must not mean this one */
        .usable = 1,
        .platform = "Tessera",
        .name = "reference",
        .vendor = "Tessera",
        .driver = state->host->version,
        .version = "C11",
        .c_version = "",
        .reason = "plain C on one thread, which all others are compared with: slow, used only by "
                  "name or where there is no other device",
        .compute_units = 1,
        .memory = memory,
        .max_allocation = memory,
        .max_work_group = 1,
        .base_alignment = TSRI_BASE_ALIGNMENT,
        .fp64 = 1,
        .unified_memory = 1,
    };
    memcpy(facts, &mine, size < sizeof mine ? size : sizeof mine);
    return TSR_OK;
}

static tsr_status device_open(tsr_state *state, uint32_t index, const tsr_device_options *options,
                              tsr_dev **out) {
    (void)state;
    TRY(index == 0
            ? TSR_OK
            : tsri_base_fail(TSR_E_ARGUMENT,
                             "the reference backend has one device, number 0; %u was asked for",
                             index));
    tsr_dev *dev = NULL;
    TRY(tsri_base_new(1, sizeof *dev, &dev));
    dev->profile = options && options->profile;
    *out = dev;
    return TSR_OK;
}

static void device_close(tsr_dev *dev) {
    free(dev);
}

static tsr_status buffer_create(tsr_dev *dev, const tsr_buffer_spec *spec, tsr_buf **out) {
    (void)dev;
    tsr_buf *buf = NULL;
    TRY(tsri_base_new(1, sizeof *buf, &buf));
    const tsr_status status = tsri_base_new_aligned((size_t)spec->bytes, &buf->data);
    if (status != TSR_OK) {
        free(buf);
        return status;
    }
    buf->bytes = spec->bytes;
    if (spec->struct_size >= sizeof *spec && spec->zeroed)
        memset(buf->data, 0, (size_t)spec->bytes);
    *out = buf;
    return TSR_OK;
}

static void buffer_destroy(tsr_buf *buf) {
    if (!buf)
        return;
    tsri_system_free_aligned(buf->data);
    free(buf);
}

static tsr_status check_range(const tsr_buf *buf, uint64_t offset, uint64_t bytes) {
    if (buf && offset <= buf->bytes && bytes <= buf->bytes - offset)
        return TSR_OK;
    return tsri_base_fail(TSR_E_ARGUMENT,
                          "a transfer of %llu bytes at %llu leaves its buffer of %llu bytes",
                          (unsigned long long)bytes, (unsigned long long)offset,
                          (unsigned long long)(buf ? buf->bytes : 0));
}

static tsr_status transfer(tsr_dev *dev, const tsr_transfer *t, const tsr_waits *waits,
                           tsr_event **done) {
    (void)dev, (void)waits;
    if (t->kind != TSR_TRANSFER_READ)
        TRY(check_range(t->dst, t->dst_offset, t->bytes));
    if (t->kind == TSR_TRANSFER_READ || t->kind == TSR_TRANSFER_COPY)
        TRY(check_range(t->src, t->src_offset, t->bytes));
    switch (t->kind) {
    case TSR_TRANSFER_WRITE:
        if (t->bytes)
            memcpy(t->dst->data + t->dst_offset, t->host, t->bytes);
        break;
    case TSR_TRANSFER_READ:
        if (t->bytes)
            memcpy(t->host, t->src->data + t->src_offset, t->bytes);
        break;
    case TSR_TRANSFER_COPY:
        memcpy(t->dst->data + t->dst_offset, t->src->data + t->src_offset, t->bytes);
        break;
    case TSR_TRANSFER_FILL:
        if (t->dst_offset % 4 || t->bytes % 4)
            return tsri_base_fail(
                TSR_E_ARGUMENT, "a fill of %llu bytes at offset %llu: both must be multiples of 4",
                (unsigned long long)t->bytes, (unsigned long long)t->dst_offset);
        for (uint64_t i = 0; i < t->bytes; i += 4)
            memcpy(t->dst->data + t->dst_offset + i, &t->pattern, 4);
        break;
    default:
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "transfer kind %u is not known to the reference backend", t->kind);
    }
    if (done)
        *done = tsri_reference_done();
    return TSR_OK;
}

static tsr_status event_wait(tsr_event *event, uint64_t timeout_ns) {
    (void)event, (void)timeout_ns;
    return TSR_OK;
}

static void event_destroy(tsr_event *event) {
    (void)event;
}

/* ---- weights: always plain rows ---- */

static tsr_status weight_layout(tsr_dev *dev, const tsr_weight_use *const *uses, size_t n,
                                const char *kernels, tsr_layout *layout) {
    (void)dev, (void)kernels;
    if (n == 0)
        return tsri_base_fail(TSR_E_ARGUMENT, "a layout was asked for a weight that no op uses");
    const tsr_tensor *weight = uses[0]->op->in[uses[0]->operand];
    const int64_t none[TSR_SYMBOLS] = {0};
    tsr_layout plain = {.struct_size = layout->struct_size,
                        .dtype = weight->dtype,
                        .row_block = 1,
                        .name = "plain"};
    plain.rows = tsri_tensor_value(tsri_tensor_rows(weight), none);
    plain.columns = tsri_tensor_value(tsri_tensor_columns(weight), none);
    if (!tsri_tensor_bytes((tsr_dtype)plain.dtype, (uint64_t)plain.rows * (uint64_t)plain.columns,
                           &plain.bytes))
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "the bytes of a weight of %lld x %lld %s can't be counted",
                              (long long)plain.rows, (long long)plain.columns,
                              tsri_tensor_dtype_name((tsr_dtype)plain.dtype));
    memcpy(layout, &plain, layout->struct_size < sizeof plain ? layout->struct_size : sizeof plain);
    return TSR_OK;
}

/* The address of `rows` in a plain buffer, after checking that they are inside it. */
static tsr_status plain_place(const tsr_layout *layout, const tsr_buf *buf, const tsr_rows *rows,
                              char **place, size_t *count) {
    if (rows->first < 0 || rows->count < 0 || rows->columns != layout->columns ||
        rows->count > layout->rows - rows->first)
        return tsri_base_fail(
            TSR_E_ARGUMENT, "rows %lld + %lld of %lld columns are outside a weight of %lld x %lld",
            (long long)rows->first, (long long)rows->count, (long long)rows->columns,
            (long long)layout->rows, (long long)layout->columns);
    uint64_t offset = 0, bytes = 0;
    *count = (size_t)rows->count * (size_t)rows->columns;
    if (!tsri_tensor_bytes((tsr_dtype)layout->dtype,
                           (uint64_t)rows->first * (uint64_t)rows->columns, &offset) ||
        !tsri_tensor_bytes((tsr_dtype)layout->dtype, *count, &bytes))
        return tsri_base_fail(
            TSR_E_ARGUMENT, "rows of %lld columns are not a whole number of %s blocks",
            (long long)rows->columns, tsri_tensor_dtype_name((tsr_dtype)layout->dtype));
    TRY(check_range(buf, offset, bytes));
    *place = buf->data + offset;
    return TSR_OK;
}

static tsr_status weight_store(tsr_dev *dev, const tsr_layout *layout, const tsr_rows *rows,
                               tsr_buf *buf) {
    (void)dev;
    char *place = NULL;
    size_t count = 0;
    TRY(plain_place(layout, buf, rows, &place, &count));
    return tsri_tensor_convert((tsr_dtype)layout->dtype, place, (tsr_dtype)rows->dtype, rows->data,
                               count);
}

static tsr_status weight_load(tsr_dev *dev, const tsr_layout *layout, tsr_buf *buf,
                              tsr_rows *rows) {
    (void)dev;
    char *place = NULL;
    size_t count = 0;
    TRY(plain_place(layout, buf, rows, &place, &count));
    return tsri_tensor_convert((tsr_dtype)rows->dtype, rows->data, (tsr_dtype)layout->dtype, place,
                               count);
}

const tsr_backend *tsri_reference_get(uint32_t abi) {
    static const tsr_backend table = {
        .struct_size = sizeof table,
        .abi = TSR_BACKEND_ABI,
        .name = "reference",
        .version = TESSERA_VERSION,
        .description = "plain C, one thread: what every other backend is checked against",
        .open = start,
        .close = stop,
        .device_count = device_count,
        .device_facts = device_facts,
        .device_open = device_open,
        .device_close = device_close,
        .buffer_create = buffer_create,
        .buffer_destroy = buffer_destroy,
        .transfer = transfer,
        .event_wait = event_wait,
        .event_destroy = event_destroy,
        .op_variants = tsri_reference_op_variants,
        .weight_layout = weight_layout,
        .weight_store = weight_store,
        .weight_load = weight_load,
        .plan_create = tsri_reference_plan_create,
        .plan_destroy = tsri_reference_plan_destroy,
        .plan_run = tsri_reference_plan_run,
        .plan_explain = tsri_reference_plan_explain,
        .plan_profile = tsri_reference_plan_profile,
    };
    return abi >> 16 == TSR_BACKEND_ABI >> 16 ? &table : NULL;
}
