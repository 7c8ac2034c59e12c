/* backends/opencl/driver/variables.c - which variables of the environment steer drivers. */
#include "backends/opencl/driver/variables.h"
#include "base/error.h"
#include "base/system/child.h"

#include <stdlib.h>
#include <string.h>

/* How the names begin. Variables that only choose drivers (OCL_ICD_VENDORS) are not among them. */
static const char *const steering[] = {"POCL_", "RUSTICL_", "CL_",      "LD_",      "LP_",  "CUDA_",
                                       "ZE_",   "MESA_",    "GALLIUM_", "GALLIVM_", "NEO",  "IGC_",
                                       "HSA_",  "ROCR_",    "GPU_",     "AMD_",     "HIP_", NULL};
/* The command sets it (cli/base/app.c), and where a driver's cache lies changes nothing else. */
static const char *const indifferent[] = {"POCL_CACHE_DIR=", NULL};
/* No compiler heeds these: they choose libraries, devices (whose names are in a key anyway),
 * threads (the command sets two of them), memory, caches and logs. Any other may change code. */
static const char *const of_drivers_alone[] = {"LD_",
                                               "POCL_DEVICES=",
                                               "RUSTICL_ENABLE=",
                                               "CUDA_VISIBLE_DEVICES=",
                                               "CUDA_DEVICE_ORDER=",
                                               "HIP_VISIBLE_DEVICES=",
                                               "ROCR_VISIBLE_DEVICES=",
                                               "GPU_DEVICE_ORDINAL=",
                                               "ZE_AFFINITY_MASK=",
                                               "POCL_MAX_PTHREAD_COUNT=",
                                               "POCL_CPU_MAX_CU_COUNT=",
                                               "POCL_AFFINITY=",
                                               "LP_NUM_THREADS=",
                                               "CL_CONFIG_CPU_TBB_NUM_WORKERS=",
                                               "POCL_MEMORY_LIMIT=",
                                               "POCL_KERNEL_CACHE=",
                                               "CUDA_CACHE_",
                                               "MESA_SHADER_CACHE_",
                                               "MESA_GLSL_CACHE_",
                                               "NEO_CACHE_",
                                               "POCL_DEBUG",
                                               "POCL_TRACING",
                                               "AMD_LOG_",
                                               "MESA_LOG",
                                               NULL};

static bool begins_with_any(const char *variable, const char *const *beginnings) {
    for (; *beginnings; beginnings++)
        if (!strncmp(variable, *beginnings, strlen(*beginnings)))
            return true;
    return false;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

tsr_status tsri_opencl_variables(bool of_compilers, tsri_bytes *out) {
    static const char *const none[] = {NULL};
    size_t n = 0, all = 0;
    tsr_status status = TSR_OK;
    const char **variables = tsri_system_environment(none, 0, &all);
    if (!variables)
        return tsri_base_fail(TSR_E_HOST_MEMORY, "out of host memory");
    for (size_t i = 0; i < all; i++)
        if (begins_with_any(variables[i], steering) &&
            !begins_with_any(variables[i], indifferent) &&
            !(of_compilers && begins_with_any(variables[i], of_drivers_alone)))
            variables[n++] = variables[i];
    qsort(variables, n, sizeof *variables, by_text);
    for (size_t i = 0; i < n && status == TSR_OK; i++)
        status = tsri_base_bytes_append(out, variables[i], strlen(variables[i]) + 1);
    free(variables);
    return status;
}
