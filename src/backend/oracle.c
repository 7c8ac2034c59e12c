/* backend/oracle.c - runs one op on the reference backend with operands in host memory; other
 * backends test their kernels against it. */
#include "backend/host.h"

#include "base/error.h"
#include "tensor/shape.h"

enum { OPERANDS = 64 };

typedef struct oracle {
    const tsr_backend *backend;
    tsr_state *state;
    tsr_dev *dev;
    tsr_tensor tensors[OPERANDS];
    const tsr_tensor *pointers[OPERANDS]; /* inputs, then outputs; NULL: missing */
    uint64_t bytes[OPERANDS];
} oracle;

static tsr_status move(const oracle *o, tsr_transfer_kind kind, uint32_t i, void *host) {
    const tsr_transfer transfer = {.struct_size = sizeof transfer,
                                   .kind = kind,
                                   .dst = kind == TSR_TRANSFER_WRITE ? o->tensors[i].buf : NULL,
                                   .src = kind == TSR_TRANSFER_READ ? o->tensors[i].buf : NULL,
                                   .bytes = o->bytes[i],
                                   .host = host};
    return o->backend->transfer(o->dev, &transfer, NULL, NULL);
}

static tsr_status place(oracle *o, const tsr_op *op, const int64_t sizes[TSR_SYMBOLS],
                        void *const *operands) {
    for (uint32_t i = 0; i < op->n_in + op->n_out; i++) {
        const tsr_tensor *given = i < op->n_in ? op->in[i] : op->out[i - op->n_in];
        if (!given || !operands[i])
            continue;
        o->tensors[i] = *given;
        o->tensors[i].origin = 0;
        o->tensors[i].layout = 0;
        o->tensors[i].buf = NULL;
        o->bytes[i] = tsri_tensor_extent(given, sizes);
        const tsr_buffer_spec spec = {.struct_size = sizeof spec,
                                      .bytes = o->bytes[i] ? o->bytes[i] : 1};
        TRY(o->backend->buffer_create(o->dev, &spec, &o->tensors[i].buf));
        o->pointers[i] = &o->tensors[i];
        TRY(move(o, TSR_TRANSFER_WRITE, i, operands[i]));
    }
    return TSR_OK;
}

static tsr_status run(const oracle *o, const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    tsr_op own = *op;
    tsr_bounds bounds = {.struct_size = sizeof bounds};
    tsr_run now = {.struct_size = sizeof now};
    const tsr_op *ops[] = {&own};
    tsr_plan *plan = NULL;
    own.in = o->pointers;
    own.out = o->pointers + op->n_in;
    own.bounds = &bounds;
    for (int i = 0; i < TSR_SYMBOLS; i++)
        now.sizes[i] = bounds.lowest[i] = bounds.highest[i] = sizes[i];
    const tsr_plan_spec spec = {
        .struct_size = sizeof spec, .n_ops = 1, .ops = ops, .bounds = &bounds};
    TRY(o->backend->plan_create(o->dev, &spec, &plan));
    const tsr_status status = o->backend->plan_run(plan, &now, NULL, NULL);
    o->backend->plan_destroy(plan);
    return status;
}

tsr_status tsri_backend_compute(void *data, const tsr_op *op, const int64_t sizes[TSR_SYMBOLS],
                                void *const *operands) {
    static const tsr_host host = {
        .struct_size = sizeof host, .abi = TSR_BACKEND_ABI, .version = TESSERA_VERSION};
    oracle o = {.backend = tsri_reference_get(TSR_BACKEND_ABI)};
    const uint32_t n = op->n_in + op->n_out;
    (void)data;
    if (n > OPERANDS)
        return tsri_base_fail(TSR_E_ARGUMENT, "an op has %u operands; at most %d are supported", n,
                              OPERANDS);
    tsr_status status = o.backend->open(&host, NULL, &o.state);
    if (status == TSR_OK)
        status = o.backend->device_open(o.state, 0, NULL, &o.dev);
    if (status == TSR_OK)
        status = place(&o, op, sizes, operands);
    if (status == TSR_OK)
        status = run(&o, op, sizes);
    for (uint32_t i = 0; i < n; i++) {
        if (status == TSR_OK && o.pointers[i])
            status = move(&o, TSR_TRANSFER_READ, i, operands[i]);
        o.backend->buffer_destroy(o.tensors[i].buf);
    }
    if (o.dev)
        o.backend->device_close(o.dev);
    if (o.state)
        o.backend->close(o.state);
    return status;
}
