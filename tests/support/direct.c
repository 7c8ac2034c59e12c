/* Runs one op on the reference, without a graph. */
#include "support/direct.h"

#include "backend/host.h"
#include "tensor/shape.h"

#include <criterion/criterion.h>
#include <string.h>

tsr_tensor direct_tensor(tsr_dtype dtype, uint32_t rank, const int64_t *dims) {
    tsr_tensor tensor = {.struct_size = sizeof tensor, .dtype = dtype, .rank = rank};
    for (uint32_t i = 0; i < rank; i++)
        tensor.dim[i] = tsri_tensor_const(dims[i]);
    tsri_tensor_pack(&tensor);
    return tensor;
}

tsr_tensor direct_permute(tsr_tensor x, const uint32_t *order) {
    tsr_tensor y = x;
    for (uint32_t i = 0; i < x.rank; i++) {
        y.dim[i] = x.dim[order[i]];
        y.stride[i] = x.stride[order[i]];
    }
    return y;
}

tsr_status direct_run(tsr_op_id id, const void *attrs, uint32_t n_in, uint32_t n_out,
                      const tsr_tensor *tensors, void *const *data, const size_t *bytes) {
    const tsr_backend *backend = tsri_reference_get(TSR_BACKEND_ABI);
    const tsr_host host = {.struct_size = sizeof host, .abi = TSR_BACKEND_ABI, .version = "test"};
    const tsr_device_options options = {.struct_size = sizeof options};
    tsr_state *state = NULL;
    tsr_dev *dev = NULL;
    cr_assert_eq(backend->open(&host, NULL, &state), TSR_OK);
    cr_assert_eq(backend->device_open(state, 0, &options, &dev), TSR_OK);
    tsr_tensor operands[16];
    const tsr_tensor *pointers[16] = {NULL};
    for (uint32_t i = 0; i < n_in + n_out; i++) {
        if (!data[i])
            continue;
        operands[i] = tensors[i];
        const tsr_buffer_spec spec = {.struct_size = sizeof spec, .bytes = bytes[i] ? bytes[i] : 1};
        cr_assert_eq(backend->buffer_create(dev, &spec, &operands[i].buf), TSR_OK);
        const tsr_transfer write = {.struct_size = sizeof write,
                                    .kind = TSR_TRANSFER_WRITE,
                                    .dst = operands[i].buf,
                                    .bytes = bytes[i],
                                    .host = data[i]};
        cr_assert_eq(backend->transfer(dev, &write, NULL, NULL), TSR_OK);
        pointers[i] = &operands[i];
    }
    const tsr_op op = {.struct_size = sizeof op,
                       .id = id,
                       .n_in = n_in,
                       .n_out = n_out,
                       .in = pointers,
                       .out = pointers + n_in,
                       .attrs = attrs};
    const tsr_op *ops[] = {&op};
    const tsr_bounds bounds = {.struct_size = sizeof bounds};
    const tsr_plan_spec spec = {
        .struct_size = sizeof spec, .n_ops = 1, .ops = ops, .bounds = &bounds};
    const tsr_run run = {.struct_size = sizeof run};
    tsr_plan *plan = NULL;
    tsr_status status = backend->plan_create(dev, &spec, &plan);
    if (status == TSR_OK)
        status = backend->plan_run(plan, &run, NULL, NULL);
    backend->plan_destroy(plan);
    for (uint32_t i = 0; i < n_in + n_out; i++) {
        if (!data[i])
            continue;
        const tsr_transfer read = {.struct_size = sizeof read,
                                   .kind = TSR_TRANSFER_READ,
                                   .src = operands[i].buf,
                                   .bytes = bytes[i],
                                   .host = data[i]};
        cr_assert_eq(backend->transfer(dev, &read, NULL, NULL), TSR_OK);
        backend->buffer_destroy(operands[i].buf);
    }
    backend->device_close(dev);
    backend->close(state);
    return status;
}
