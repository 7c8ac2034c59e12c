/* backends/opencl/launch/scratch.c - the scratch memory that the launches of all plans share. */
#include "backends/opencl/launch/scratch.h"
#include "backends/opencl/device/buffer.h"
#include "backends/opencl/device/failure.h"
#include "backends/opencl/launch/chain.h"
#include "backends/opencl/launch/commands.h"
#include "base/error.h"

#include <inttypes.h>

tsr_status tsri_opencl_scratch_grow(tsr_dev *dev, uint64_t bytes) {
    const tsr_facts *facts = &dev->facts.common;
    cl_int code = CL_SUCCESS;
    if (bytes <= dev->scratch_bytes)
        return TSR_OK;
    if (bytes > facts->max_allocation)
        return tsri_base_fail(TSR_E_DEVICE_MEMORY,
                              "the kernels need %" PRIu64 " bytes of scratch; %s/%s allows %" PRIu64
                              " bytes in one buffer",
                              bytes, facts->platform, facts->name, facts->max_allocation);
    TRY(tsri_opencl_drain(dev));
    cl_mem scratch = clCreateBuffer(dev->context, CL_MEM_READ_WRITE, (size_t)bytes, NULL, &code);
    if (!scratch)
        return tsri_opencl_fail_create(dev, code, "clCreateBuffer (scratch)");
    const tsr_status status =
        tsri_opencl_touch(dev, scratch, bytes, "the first use of scratch memory");
    if (status != TSR_OK) {
        if (tsri_opencl_releasable(dev))
            tsri_opencl_release(dev, scratch);
        return status;
    }
    if (dev->scratch)
        tsri_opencl_release(dev, dev->scratch);
    dev->scratch = scratch;
    dev->scratch_bytes = bytes;
    for (tsr_plan *plan = dev->plans; plan; plan = plan->next) {
        for (uint32_t i = 0; i < plan->n_ops; i++)
            if (plan->steps[i].launch.n_scratch)
                TRY(tsri_opencl_launch_bind_scratch(&plan->steps[i].launch));
        TRY(tsri_opencl_chain_bind(plan));
        tsri_opencl_commands_forget(plan);
    }
    return TSR_OK;
}
