/* run/memory.c - what a device has, and what a weight needs, in bytes. */
#include "run/context.h"
#include "tensor/convert.h"
#include "tensor/shape.h"

#include <stdio.h>

static uint64_t host_memory_available(void) {
    unsigned long long kib = 0;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "r");
    if (!file)
        return UINT64_MAX;
    while (fgets(line, sizeof line, file) && sscanf(line, "MemAvailable: %llu kB", &kib) != 1)
        ;
    fclose(file);
    return kib ? (uint64_t)kib * 1024 : UINT64_MAX;
}

uint64_t tsri_run_host_memory(const tsr_facts *facts) {
    return facts->unified_memory ? host_memory_available() : UINT64_MAX;
}

uint64_t tsri_run_available(const tsr_facts *facts) {
    const uint64_t device = facts->memory ? facts->memory : UINT64_MAX,
                   host = tsri_run_host_memory(facts);
    return device < host ? device : host;
}

void tsri_run_plain_layout(const tsr_tensor *tensor, tsr_layout *layout) {
    const int64_t none[TSR_SYMBOLS] = {0};
    *layout = (tsr_layout){
        .struct_size = sizeof *layout, .dtype = tensor->dtype, .row_block = 1, .name = "plain"};
    layout->rows = tsri_tensor_value(tsri_tensor_rows(tensor), none);
    layout->columns = tsri_tensor_value(tsri_tensor_columns(tensor), none);
    tsri_tensor_bytes((tsr_dtype)tensor->dtype, (uint64_t)layout->rows * (uint64_t)layout->columns,
                      &layout->bytes);
}
