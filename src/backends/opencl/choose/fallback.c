/* backends/opencl/choose/fallback.c - a packed weight unpacked to plain rows, once for each
 * buffer. */
#include "backends/opencl/choose/fallback.h"
#include "backends/opencl/choose/layout.h"
#include "backends/opencl/choose/select.h"
#include "backends/opencl/device/buffer.h"
#include "backends/opencl/driver/host.h"
#include "backends/opencl/program/program.h"
#include "backends/opencl/variants/variants.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "tensor/shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 4 << 20, WHY_LENGTH = 200 };

/* Copies a weight's rows through the host, one block after another. */
static tsr_status copy_rows(tsr_dev *dev, const tsr_layout *from, tsr_buf *stored, tsr_buf *plain) {
    const tsr_layout to = tsri_opencl_plain_layout(from);
    const int64_t row_bytes = from->rows ? (int64_t)(to.bytes / (uint64_t)from->rows) : 0;
    int64_t block = from->row_block;
    void *data = NULL;
    tsr_status status = TSR_OK;
    if (row_bytes && block < BLOCK_BYTES / row_bytes)
        block = BLOCK_BYTES / row_bytes / block * block;
    TRY(tsri_base_new_aligned((size_t)(block * row_bytes) + 1, &data));
    for (int64_t first = 0; first < from->rows && status == TSR_OK; first += block) {
        const int64_t left = from->rows - first;
        tsr_rows rows = {.struct_size = sizeof rows,
                         .dtype = from->dtype,
                         .first = first,
                         .count = left < block ? left : block,
                         .columns = from->columns,
                         .data = data};
        status = tsri_opencl_weight_load(dev, from, stored, &rows);
        if (status == TSR_OK)
            status = tsri_opencl_weight_store(dev, &to, &rows, plain);
    }
    free(data);
    return status;
}

static tsr_status make_plain(tsr_dev *dev, const tsr_layout *layout, tsr_buf *stored) {
    const tsr_buffer_spec spec = {.struct_size = sizeof spec,
                                  .kind = TSR_KIND_WEIGHT,
                                  .bytes = tsri_opencl_plain_layout(layout).bytes};
    tsr_buf *plain = NULL;
    if (stored->plain)
        return TSR_OK;
    TRY(tsri_opencl_buffer_create(dev, &spec, &plain));
    const tsr_status status = copy_rows(dev, layout, stored, plain);
    if (status != TSR_OK) {
        tsri_opencl_buffer_destroy(plain);
        return status;
    }
    stored->plain = plain;
    return TSR_OK;
}

/* The operand that is packed in a layout of its own and fills its buffer; -1 where there is
 * none. */
static int packed_operand(const tsr_op *op, const tsri_opencl_layout **own, tsr_layout *layout) {
    const int64_t none[TSR_SYMBOLS] = {0};
    for (uint32_t i = 0; i < op->n_in; i++) {
        const tsr_tensor *weight = op->in[i];
        *own = weight ? tsri_opencl_layout_by_id(weight->layout) : NULL;
        if (!*own || weight->origin || weight->offset)
            continue;
        *layout = (tsr_layout){.struct_size = sizeof *layout,
                               .id = (*own)->id,
                               .dtype = weight->dtype,
                               .row_block = (*own)->row_block,
                               .rows = tsri_tensor_value(tsri_tensor_rows(weight), none),
                               .columns = tsri_tensor_value(tsri_tensor_columns(weight), none)};
        layout->bytes = (*own)->bytes(layout->rows, layout->columns, layout->dtype);
        snprintf(layout->name, sizeof layout->name, "%s", (*own)->name);
        if (weight->buf && weight->buf->bytes == layout->bytes)
            return (int)i;
    }
    return -1;
}

/* "linear/packed is refused on pocl/cpu: does not build: ...", for the best variant that reads the
 * layout. */
static tsr_status explain_refusal(tsr_dev *dev, const tsr_op *op, const tsri_opencl_layout *own,
                                  tsri_bytes *out) {
    const tsri_opencl_variant *variants[TSRI_OPENCL_MAX_VARIANTS];
    const size_t n = tsri_opencl_candidates(dev, op, variants);
    const char *name = "", *reason = "no variant reads it";
    for (size_t i = 0; i < n; i++) {
        const char *why = "";
        tsri_opencl_instance *instance = NULL;
        if (variants[i]->layout != own)
            continue;
        const char *form = tsri_opencl_form_refused(dev, variants[i]);
        if (form) {
            name = variants[i]->name;
            reason = form;
            break;
        }
        if (!tsri_opencl_fits(dev, variants[i], op, NULL, true, &why))
            continue;
        TRY(tsri_opencl_instance_of(dev, variants[i], op, NULL, NULL, &instance));
        if (instance->state == TSRI_OPENCL_REFUSED) {
            name = variants[i]->name;
            reason = instance->why;
            break;
        }
    }
    return tsri_base_bytes_printf(
        out, "%s/%s is refused on %s/%s: %.*s", tsri_opencl_op_name((tsr_op_id)op->id), name,
        dev->facts.common.platform, dev->facts.common.name,
        (int)(strcspn(reason, "\n") < WHY_LENGTH ? strcspn(reason, "\n") : WHY_LENGTH), reason);
}

tsr_status tsri_opencl_fall_back(tsr_dev *dev, tsri_opencl_step *step, bool *moved) {
    const tsr_op *op = &step->operation.op;
    const tsri_opencl_layout *own = NULL;
    tsr_layout layout;
    tsri_bytes text = {0};
    const int operand = packed_operand(op, &own, &layout);
    *moved = false;
    if (operand < 0)
        return TSR_OK;
    tsr_tensor *weight = step->operation.in[operand];
    tsr_status status = explain_refusal(dev, op, own, &text);
    if (status == TSR_OK)
        status = make_plain(dev, &layout, weight->buf);
    if (status != TSR_OK) {
        tsri_base_bytes_clear(&text);
        return status;
    }
    const uint32_t bit = UINT32_C(1) << (own->id % 32);
    if (!(dev->kept_twice[op->id] & bit))
        tsri_opencl_log(dev->state, TSR_LOG_WARNING,
                        "%s; its weights are kept a second time as plain rows", text.data);
    dev->kept_twice[op->id] |= bit;
    step->stored_operand = (uint32_t)operand;
    step->stored_layout = weight->layout;
    step->fallback = text.data;
    weight->buf = weight->buf->plain;
    weight->layout = 0;
    *moved = true;
    return TSR_OK;
}
