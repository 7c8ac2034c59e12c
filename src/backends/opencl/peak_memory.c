/* backends/opencl/peak_memory.c - measures how fast a device reads and writes memory of any kind. */
#include "backends/opencl/peak_kernel.h"

#include "backends/opencl/device/buffer.h"
#include "backends/opencl/device/failure.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MEMORY = 256 << 20, /* more than the caches hold */
    MORE = 1 << 30,     /* of a card, whose caches may hold that: at most an eighth of its memory */
    SHARED = 1 << 20,   /* up to so many bytes, each compute unit reads all of them */
    LOCAL_ROUND = 8     /* vectors that a work-item of peak/local.cl reads in a round */
};

typedef tsri_opencl_peak_kernel kernel;

static const char *vector_of(const tsr_dev *dev) {
    return dev->facts.cpu ? "-DT=uint16" : "-DT=uint4";
}

static size_t vector_bytes(const tsr_dev *dev) {
    return dev->facts.cpu ? 64 : 16;
}

static tsr_status too_small(const tsr_dev *dev) {
    return tsri_base_fail(TSR_E_UNSUPPORTED, "%s has too little memory to measure this peak",
                          dev->facts.common.name);
}

static uint64_t large(const tsr_dev *dev) {
    const tsr_facts *facts = &dev->facts.common;
    uint64_t bytes = !facts->unified_memory && facts->memory / 8 >= MORE ? MORE : MEMORY;
    while (bytes > 1 << 20 && (bytes > facts->max_allocation || bytes > facts->memory / 4))
        bytes /= 2;
    return bytes;
}

static double best_of(const double *values, uint32_t n) {
    double best = 0;
    for (uint32_t i = 0; i < n; i++)
        best = values[i] > best ? values[i] : best;
    return best;
}

/* Keeps the better one of two ways in `values`. */
static void keep_better(double *values, const double *tried, uint32_t n) {
    if (best_of(tried, n) > best_of(values, n))
        memcpy(values, tried, n * sizeof *values);
}

static tsr_status launches(kernel *p, uint64_t bytes, int times, uint64_t *ns) {
    uint64_t unused;
    (void)bytes;
    return tsri_opencl_peak_run(p, times, &unused, ns);
}

/* Measures a run over all `bytes` by so many work-items. */
static tsr_status stream(kernel *p, uint64_t bytes, size_t items, cl_uint count_at,
                         uint32_t repeats, double *values) {
    const size_t vector = vector_bytes(p->dev);
    const cl_int count = (cl_int)(bytes / vector / items);
    p->items = items;
    if (!count)
        return too_small(p->dev);
    TRY(tsri_opencl_peak_set(p, count_at, sizeof count, &count));
    return tsri_opencl_peak_stream(p, launches, (uint64_t)count * vector * items, repeats, values);
}

/* Few long pieces or many short ones: which is faster depends on the device, and the better one
 * counts. */
static tsr_status both(kernel *p, uint64_t bytes, cl_uint count_at, uint32_t repeats,
                       double *values) {
    const size_t items = tsri_opencl_peak_items(p->dev);
    double *tried = NULL;
    TRY(tsri_base_new(repeats, sizeof *tried, &tried));
    tsr_status status = stream(p, bytes, items * 8, count_at, repeats, values);
    if (status == TSR_OK)
        status = stream(p, bytes, items, count_at, repeats, tried);
    if (status == TSR_OK)
        keep_better(values, tried, repeats);
    free(tried);
    return status;
}

tsr_status tsri_opencl_peak_read(tsr_dev *dev, uint32_t repeats, double *values) {
    const uint64_t bytes = large(dev);
    kernel p = {.dev = dev};
    tsr_status status = tsri_opencl_peak_build(&p, "peak/read.cl", "peak_read", vector_of(dev));
    if (status == TSR_OK) /* the memory that weights are in */
        status = tsri_opencl_peak_buffer(&p, bytes, TSR_KIND_WEIGHT, &p.data);
    if (status == TSR_OK)
        status = tsri_opencl_peak_buffer(&p, tsri_opencl_peak_items(dev) * 8 * sizeof(cl_uint),
                                         TSR_KIND_ACTIVATION, &p.out);
    if (status == TSR_OK)
        status = tsri_opencl_peak_set(&p, 0, sizeof(cl_mem), &p.data->mem);
    if (status == TSR_OK)
        status = tsri_opencl_peak_set(&p, 1, sizeof(cl_mem), &p.out->mem);
    if (status == TSR_OK)
        status = both(&p, bytes, 2, repeats, values);
    tsri_opencl_peak_clear(&p);
    return status;
}

/* The driver's own way to set memory. */
static tsr_status fills(kernel *p, uint64_t bytes, int times, uint64_t *ns) {
    const tsr_transfer whole = {.struct_size = sizeof whole,
                                .kind = TSR_TRANSFER_FILL,
                                .dst = p->data,
                                .bytes = bytes,
                                .pattern = 2};
    const uint64_t begun = tsri_base_now_ns();
    for (int i = 0; i < times; i++)
        TRY(tsri_opencl_transfer(p->dev, &whole, NULL, NULL));
    TRY(tsri_opencl_drain(p->dev));
    *ns = tsri_base_now_ns() - begun;
    return TSR_OK;
}

static tsr_status write_ways(kernel *p, uint64_t bytes, uint32_t repeats, double *values) {
    const cl_uint value = 1;
    double *tried = NULL;
    TRY(tsri_opencl_peak_set(p, 0, sizeof(cl_mem), &p->data->mem));
    TRY(tsri_opencl_peak_set(p, 1, sizeof value, &value));
    TRY(both(p, bytes, 2, repeats, values));
    TRY(tsri_base_new(repeats, sizeof *tried, &tried));
    tsr_status status = tsri_opencl_peak_stream(p, fills, bytes, repeats, tried);
    if (status == TSR_OK)
        keep_better(values, tried, repeats);
    free(tried);
    return status;
}

tsr_status tsri_opencl_peak_write(tsr_dev *dev, uint32_t repeats, double *values) {
    const uint64_t bytes = large(dev);
    kernel p = {.dev = dev};
    tsr_status status = tsri_opencl_peak_build(&p, "peak/write.cl", "peak_write", vector_of(dev));
    if (status == TSR_OK)
        status = tsri_opencl_peak_buffer(&p, bytes, TSR_KIND_ACTIVATION, &p.data);
    if (status == TSR_OK)
        status = write_ways(&p, bytes, repeats, values);
    tsri_opencl_peak_clear(&p);
    return status;
}

/* ---- caches ---- */

/* Work-groups of a GPU; its driver must not choose another size, because the groups are counted. */
enum { GROUP = 64 };

/* Each work-group has its share; only small memory that is read is the same for all. As many groups run
 * as have a vector for each work-item. */
static tsr_status again(kernel *p, uint64_t bytes, bool writes, uint32_t repeats, double *values) {
    const bool cpu = p->dev->facts.cpu, shared = !writes && bytes <= SHARED;
    const size_t vector = vector_bytes(p->dev), group = cpu ? 1 : GROUP,
                 most = tsri_opencl_peak_items(p->dev) / group, all = (size_t)bytes / vector,
                 groups = shared || all / group > most ? most : all / group;
    const cl_int count = (cl_int)(shared ? all : all / (groups ? groups : 1)),
                 stride = shared ? 0 : count;
    cl_uint at = 0;
    if (!count || !groups)
        return too_small(p->dev);
    p->items = groups * group;
    p->group = group;
    TRY(tsri_opencl_peak_set(p, at++, sizeof(cl_mem), &p->data->mem));
    if (!writes)
        TRY(tsri_opencl_peak_set(p, at++, sizeof(cl_mem), &p->out->mem));
    TRY(tsri_opencl_peak_set(p, at++, sizeof count, &count));
    TRY(tsri_opencl_peak_set(p, at++, sizeof stride, &stride));
    TRY(tsri_opencl_peak_calibrate(p, at));
    return tsri_opencl_peak_rates(p, (double)count * (double)vector / (double)group, repeats,
                                  values);
}

tsr_status tsri_opencl_peak_again(tsr_dev *dev, uint64_t bytes, bool writes, uint32_t repeats,
                                  double *values) {
    kernel p = {.dev = dev};
    char defines[32];
    if (bytes > large(dev))
        return too_small(dev);
    snprintf(defines, sizeof defines, "%s%s", vector_of(dev), writes ? " -DWRITES" : "");
    tsr_status status = tsri_opencl_peak_build(&p, "peak/again.cl", "peak_again", defines);
    if (status == TSR_OK)
        status = tsri_opencl_peak_buffer(&p, bytes, writes ? TSR_KIND_ACTIVATION : TSR_KIND_WEIGHT,
                                         &p.data);
    if (status == TSR_OK && !writes)
        status = tsri_opencl_peak_buffer(&p, tsri_opencl_peak_items(dev) * sizeof(cl_uint),
                                         TSR_KIND_ACTIVATION, &p.out);
    if (status == TSR_OK)
        status = again(&p, bytes, writes, repeats, values);
    tsri_opencl_peak_clear(&p);
    return status;
}

tsr_status tsri_opencl_peak_local(tsr_dev *dev, uint32_t repeats, double *values) {
    kernel p = {.dev = dev};
    tsr_status status = tsri_opencl_peak_build(&p, "peak/local.cl", "peak_local", vector_of(dev));
    p.items = tsri_opencl_peak_items(dev) / GROUP * GROUP;
    p.items = p.items ? p.items : tsri_opencl_peak_items(dev);
    p.group = dev->facts.cpu ? 1 : GROUP;
    if (status == TSR_OK)
        status =
            tsri_opencl_peak_buffer(&p, p.items * sizeof(cl_uint), TSR_KIND_ACTIVATION, &p.out);
    if (status == TSR_OK)
        status = tsri_opencl_peak_set(&p, 0, sizeof(cl_mem), &p.out->mem);
    if (status == TSR_OK)
        status = tsri_opencl_peak_calibrate(&p, 1);
    if (status == TSR_OK)
        status =
            tsri_opencl_peak_rates(&p, LOCAL_ROUND * (double)vector_bytes(dev), repeats, values);
    tsri_opencl_peak_clear(&p);
    return status;
}
