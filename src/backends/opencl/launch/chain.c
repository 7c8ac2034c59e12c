/* backends/opencl/launch/chain.c - builds the program of a chain, and writes its records. */
#include "backends/opencl/launch/chain.h"
#include "backends/opencl/device/buffer.h"
#include "backends/opencl/device/failure.h"
#include "backends/opencl/driver/builders.h"
#include "backends/opencl/program/compile.h"
#include "backends/opencl/program/program.h"
#include "backends/opencl/source/source.h"
#include "backends/opencl/variants/variants.h"
#include "base/error.h"
#include "base/memory.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The size of a record of cl/chain/workers.cl, in ints; its arguments begin at an offset that is
 * aligned for an int16. */
enum { RECORD = 192, ARGUMENTS = 16, STATE_BYTES = 192 };

struct tsri_opencl_chain {
    tsri_opencl_chain *next;
    cl_program program;
    tsri_bytes source;       /* of a program that this process does not have yet, else empty */
    tsri_opencl_order order; /* what a builder was told; NONE: nothing */
    tsri_opencl_key key;     /* of the program */
    size_t n, capacity;
    tsri_opencl_instance **cases;
    tsri_opencl_reach *reached; /* how far each case was self-tested */
};

/* --- which kernels, which devices --- */

static bool runs_chains(const tsr_dev *dev) {
    return dev->state->chain && dev->facts.cpu && dev->facts.vector16 &&
           (dev->found->effects & TSRI_OPENCL_CHAINS) && !dev->record && !dev->bundle &&
           !dev->profile && sizeof(void *) == 8;
}

bool tsri_opencl_joins(const tsr_plan *plan) {
    return runs_chains(plan->dev) && plan->n_ops >= plan->dev->state->chain;
}

static bool takes_part(const tsri_opencl_instance *instance) {
    return tsri_opencl_variant_chains(instance->variant) && instance->state != TSRI_OPENCL_REFUSED;
}

/* The index of an instance among the program's cases; -1 where it is not one of them. */
static int case_of(const tsri_opencl_chain *chain, const tsri_opencl_instance *instance) {
    for (size_t i = 0; i < chain->n; i++)
        if (chain->cases[i] == instance)
            return (int)i;
    return -1;
}

static bool has(const tsri_opencl_chain *chain, const tsri_opencl_instance *instance) {
    return case_of(chain, instance) >= 0 &&
           (!instance->before || case_of(chain, instance->before) >= 0);
}

bool tsri_opencl_chain_has(const tsr_plan *plan, const tsri_opencl_step *step) {
    return plan->chain && takes_part(step->instance) && has(plan->chain, step->instance);
}

tsri_opencl_reach *tsri_opencl_chain_reach(const tsr_plan *plan, const tsri_opencl_step *step) {
    return &plan->chain->reached[case_of(plan->chain, step->instance)];
}

const tsri_opencl_key *tsri_opencl_chain_key(const tsr_plan *plan) {
    return &plan->chain->key;
}

/* --- the program --- */

static tsr_status add_case(tsri_opencl_chain *chain, tsri_opencl_instance *instance) {
    if (!instance || case_of(chain, instance) >= 0)
        return TSR_OK;
    TRY(tsri_base_grow(&chain->cases, &chain->capacity, chain->n + 1, sizeof *chain->cases));
    chain->cases[chain->n++] = instance;
    return TSR_OK;
}

static tsr_status keep_signature(tsri_opencl_instance *instance, const tsri_opencl_launch *launch) {
    if (!instance || instance->signature)
        return TSR_OK;
    instance->signature = tsri_base_copy_text(launch->trace->kinds, strlen(launch->trace->kinds));
    return instance->signature ? TSR_OK : TSR_E_HOST_MEMORY;
}

/* Records the kinds of the arguments of the instance's kernel, and of its stage's. */
static tsr_status sign(tsr_plan *plan, const tsri_opencl_need *need) {
    tsri_opencl_operation *operation = &need->step->operation;
    tsri_opencl_launch launch = {0};
    if (need->instance->signature)
        return TSR_OK;
    const tsr_bounds own = operation->bounds;
    operation->bounds = need->bounds;
    tsr_status status =
        tsri_opencl_launch_trace(plan->dev, need->instance, &operation->op, plan->dims, &launch);
    operation->bounds = own;
    if (status == TSR_OK)
        status = keep_signature(need->instance, &launch);
    if (status == TSR_OK && launch.before)
        status = keep_signature(need->instance->before, launch.before);
    tsri_opencl_launch_release(&launch);
    return status;
}

/* A function that runs work-items first .. end - 1 with the arguments of record r. */
static tsr_status add_loop(const tsri_opencl_instance *instance, size_t number,
                           tsri_bytes *source) {
    int at = ARGUMENTS;
    TRY(tsri_base_bytes_printf(
        source,
        "static __attribute__((noinline)) void tsr_chain_%zu(__global const int *r, const int "
        "first, "
        "const int end, const int g0, const int g1)\n{\n    for (int i = first; i < end; i++)\n"
        "        %s(i %% g0, i / g0 %% g1, i / g0 / g1",
        number, instance->kernel));
    for (const char *kind = instance->signature; *kind; kind++) {
        const char *form = *kind == 'p'   ? ", (__global void *)*(__global const ulong *)(r + %d)"
                           : *kind == 'i' ? ", r[%d]"
                           : *kind == 'f' ? ", as_float(r[%d])"
                           : *kind == '8' ? ", vload8(0, r + %d)"
                                          : ", vload16(0, r + %d)";
        TRY(tsri_base_bytes_printf(source, form, at));
        at += *kind == '8' ? 8 : *kind == 'g' ? 16 : 2;
    }
    if (at > RECORD)
        return tsri_base_fail(TSR_E_INTERNAL,
                              "%s: its arguments take %d words; a record of a chain has %d",
                              instance->name, at, RECORD);
    return tsri_base_bytes_printf(source, ");\n}\n");
}

static tsr_status assemble(const tsr_dev *dev, const tsri_opencl_chain *chain, tsri_bytes *source) {
    const char *folder = tsri_opencl_kernel_folder(dev);
    /* With TSR_CHAIN, common/tessera.clh makes functions of the kernels. */
    TRY(tsri_base_bytes_printf(source, "#define TSR_CHAIN\n"));
    TRY(tsri_opencl_source_common(folder, source));
    for (size_t i = 0; i < chain->n; i++) {
        TRY(tsri_opencl_instance_source(dev, chain->cases[i], source));
        TRY(add_loop(chain->cases[i], i, source));
    }
    TRY(tsri_base_bytes_printf(source,
                               "#define RECORD %d\n"
                               "#define TSR_CHAIN_CASES(r, first, end, g0, g1) switch ((r)[0]) {",
                               RECORD));
    for (size_t i = 0; i < chain->n; i++)
        TRY(tsri_base_bytes_printf(
            source, " case %zu: tsr_chain_%zu(r, first, end, g0, g1); break;", i, i));
    TRY(tsri_base_bytes_printf(source, " }\n"));
    return tsri_opencl_source_file(folder, "chain/workers.cl", source);
}

static void free_chain(const tsr_dev *dev, tsri_opencl_chain *chain) {
    if (chain->program)
        clReleaseProgram(chain->program);
    tsri_opencl_builders_withdraw(dev->builders, &chain->order);
    tsri_base_bytes_clear(&chain->source);
    free(chain->cases);
    free(chain->reached);
    free(chain);
}

static int by_name(const void *a, const void *b) {
    return strcmp((*(tsri_opencl_instance *const *)a)->name,
                  (*(tsri_opencl_instance *const *)b)->name);
}

/* Makes a chain, not built yet, with the instances that `plans` need. */
static tsr_status make_chain(tsr_plan *plan, const tsri_opencl_need *needs, size_t n,
                             unsigned plans, tsri_opencl_chain **out) {
    tsr_dev *dev = plan->dev;
    tsri_opencl_chain *chain = NULL;
    TRY(tsri_base_new(1, sizeof *chain, &chain));
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < n && status == TSR_OK; i++) {
        if (!(needs[i].plans & plans) || !takes_part(needs[i].instance))
            continue;
        status = sign(plan, &needs[i]);
        if (status == TSR_OK)
            status = add_case(chain, needs[i].instance->before);
        if (status == TSR_OK)
            status = add_case(chain, needs[i].instance);
    }
    if (status == TSR_OK)
        status = tsri_base_new(chain->n ? chain->n : 1, sizeof *chain->reached, &chain->reached);
    if (status == TSR_OK && chain->n) {
        qsort(chain->cases, chain->n, sizeof *chain->cases, by_name);
        status = assemble(dev, chain, &chain->source);
    }
    if (status == TSR_OK && chain->n)
        status =
            tsri_opencl_key_of(dev, "chain", chain->source.data, chain->source.size, &chain->key);
    if (status != TSR_OK) {
        free_chain(dev, chain);
        return status;
    }
    *out = chain;
    return TSR_OK;
}

static void list_chain(tsr_dev *dev, tsri_opencl_chain *chain) {
    chain->next = dev->chain;
    dev->chain = chain;
}

/* --- builders --- */

static bool has_builders(tsr_dev *dev) {
    if (dev->facts.common.compute_units < 2 || !tsri_opencl_builds_ahead())
        return false;
    if (!dev->builders)
        dev->builders = atomic_exchange(&dev->state->builders, NULL);
    if (!dev->builders)
        dev->builders = tsri_opencl_builders_new(dev->state);
    return dev->builders;
}

/* Orders the program of a chain, where no process has built it before. */
static tsr_status order(tsr_dev *dev, tsri_opencl_chain *chain) {
    const tsr_facts *facts = &dev->facts.common;
    bool cached = false;
    if (!chain->source.size || chain->order.state)
        return TSR_OK;
    TRY(tsri_opencl_is_cached(dev, &chain->source, &cached));
    if (cached)
        return TSR_OK;
    tsri_opencl_announce(dev, chain->cases, chain->n);
    if (!has_builders(dev))
        return TSR_OK;
    chain->order.platform = facts->platform;
    chain->order.device = facts->name;
    chain->order.options = tsri_opencl_program_options(dev, false);
    chain->order.source = &chain->source;
    tsri_opencl_builders_give(dev->builders, &chain->order);
    return TSR_OK;
}

/* Gets the program of a chain: a builder's, by way of the cache, or one that is built here. One that
 * does not build stays without a program, and is not tried again. */
static tsr_status build(tsr_dev *dev, tsri_opencl_chain *chain) {
    if (!chain->source.size)
        return TSR_OK;
    TRY(order(dev, chain));
    if (chain->order.state)
        TRY(tsri_opencl_builders_wait(dev->builders, &chain->order, dev->state));
    TRY(tsri_opencl_build_text(dev, &chain->source, "tsr_chain", &chain->program));
    tsri_base_bytes_clear(&chain->source);
    return TSR_OK;
}

/* --- the program for the next token --- */

/* Whether the plan for the next token, where there is one, needs other kernels of chains than this
 * one. */
static bool next_differs(const tsri_opencl_need *needs, size_t n) {
    const unsigned both = TSRI_OPENCL_THIS_PLAN | TSRI_OPENCL_NEXT_PLAN;
    bool next = false, differs = false;
    for (size_t i = 0; i < n; i++) {
        const unsigned of = needs[i].plans & both;
        next |= (of & TSRI_OPENCL_NEXT_PLAN) != 0;
        differs |= takes_part(needs[i].instance) && of && of != both;
    }
    return next && differs;
}

/* Has a builder build a chain with the kernels that `plans` need. */
static tsr_status begin(tsr_plan *plan, const tsri_opencl_need *needs, size_t n, unsigned plans) {
    tsr_dev *dev = plan->dev;
    tsri_opencl_chain *chain = NULL;
    TRY(make_chain(plan, needs, n, plans, &chain));
    const tsr_status status = order(dev, chain);
    if (status == TSR_OK && chain->order.state)
        list_chain(dev, chain);
    else
        free_chain(dev, chain);
    return status;
}

/* --- which program --- */

/* Whether its program did not build, and a kernel of it was found that does not build alone. */
static bool outdated(const tsri_opencl_chain *chain) {
    bool refused = false;
    for (size_t i = 0; i < chain->n; i++)
        refused |= chain->cases[i]->state == TSRI_OPENCL_REFUSED;
    return refused && !chain->program;
}

static bool uses(const tsr_plan *plan, const tsri_opencl_instance *instance) {
    for (uint32_t i = 0; i < plan->n_ops; i++)
        if (plan->steps[i].instance == instance || plan->steps[i].instance->before == instance)
            return true;
    return false;
}

/* Whether the chain has the kernels that the plan runs, and no others: so which programs are built,
 * and found in the cache by later processes, does not depend on the order of plans. */
static bool serves(const tsri_opencl_chain *chain, const tsr_plan *plan) {
    if (outdated(chain))
        return false;
    for (uint32_t i = 0; i < plan->n_ops; i++)
        if (takes_part(plan->steps[i].instance) && !has(chain, plan->steps[i].instance))
            return false;
    for (size_t i = 0; i < chain->n; i++)
        if (!uses(plan, chain->cases[i]))
            return false;
    return true;
}

tsri_opencl_chain *tsri_opencl_chain_for(const tsr_plan *plan) {
    tsri_opencl_chain *begun = NULL;
    for (tsri_opencl_chain *chain = plan->dev->chain; chain; chain = chain->next) {
        if (!serves(chain, plan))
            continue;
        if (!chain->source.size)
            return chain;
        if (chain->order.state)
            begun = chain;
    }
    return begun;
}

tsr_status tsri_opencl_chain_choose(tsr_plan *plan, const tsri_opencl_need *needs, size_t n) {
    tsr_dev *dev = plan->dev;
    tsri_opencl_chain *found = tsri_opencl_chain_for(plan), *chain = found;
    tsr_status status = TSR_OK;
    if (!found) {
        TRY(make_chain(plan, needs, n, TSRI_OPENCL_THIS_PLAN, &chain));
        status = order(dev, chain);
        /* The program for the next token is built where the plan's own is being built. */
        if (status == TSR_OK && chain->order.state && next_differs(needs, n))
            status = begin(plan, needs, n, TSRI_OPENCL_NEXT_PLAN);
    }
    if (status == TSR_OK)
        status = build(dev, chain);
    if (status != TSR_OK) {
        if (!found)
            free_chain(dev, chain);
        return status;
    }
    if (!found)
        list_chain(dev, chain);
    plan->chain = chain->program ? chain : NULL;
    return TSR_OK;
}

tsr_status tsri_opencl_chain_begin(tsr_plan *plan, const tsri_opencl_need *needs, size_t n) {
    return has_builders(plan->dev) && !tsri_opencl_chain_for(plan)
               ? begin(plan, needs, n, TSRI_OPENCL_THIS_PLAN)
               : TSR_OK;
}

void tsri_opencl_chain_refuse(tsr_plan *plan) {
    for (tsri_opencl_chain *chain = plan->dev->chain; chain; chain = chain->next)
        if (chain == plan->chain) {
            clReleaseProgram(chain->program);
            chain->program = NULL;
        }
    plan->chain = NULL;
}

void tsri_opencl_chains_destroy(tsr_dev *dev) {
    while (dev->chain) {
        tsri_opencl_chain *chain = dev->chain;
        dev->chain = chain->next;
        free_chain(dev, chain);
    }
    tsri_opencl_builders_free(&dev->builders);
    if (dev->chain_state)
        tsri_opencl_release(dev, dev->chain_state);
    dev->chain_state = NULL;
}

/* --- records --- */

/* The buffers of a link, and their device addresses. */
typedef struct places {
    size_t n, capacity;
    cl_mem *buffers;
    cl_ulong *addresses;
} places;

static cl_mem buffer_of(const tsri_opencl_launch *launch, size_t argument) {
    const cl_mem given = launch->trace->values[argument].mem;
    return given ? given : launch->dev->scratch;
}

static size_t find_place(const places *all, cl_mem buffer) {
    size_t i = 0;
    while (i < all->n && all->buffers[i] != buffer)
        i++;
    return i;
}

static tsr_status collect(const tsri_opencl_launch *launch, places *all) {
    if (launch->before)
        TRY(collect(launch->before, all));
    for (size_t i = 0; launch->trace->kinds[i]; i++) {
        if (launch->trace->kinds[i] != 'p' || find_place(all, buffer_of(launch, i)) < all->n)
            continue;
        TRY(tsri_base_grow(&all->buffers, &all->capacity, all->n + 1, sizeof *all->buffers));
        all->buffers[all->n++] = buffer_of(launch, i);
    }
    return TSR_OK;
}

/* Asks the device for the buffers' addresses. */
static tsr_status locate(tsr_dev *dev, const tsri_opencl_chain *chain, places *all) {
    static const size_t one[3] = {1, 1, 1};
    const size_t bytes = all->n * sizeof *all->addresses;
    cl_int code = CL_SUCCESS;
    cl_mem out = NULL;
    cl_kernel kernel = NULL;
    TRY(tsri_base_new(all->n, sizeof *all->addresses, &all->addresses));
    dev->busy = true;
    out = clCreateBuffer(dev->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    if (out)
        kernel = clCreateKernel(chain->program, "tsr_address", &code);
    for (size_t i = 0; i < all->n && code == CL_SUCCESS; i++) {
        const cl_int number = (cl_int)i;
        code = clSetKernelArg(kernel, 0, sizeof all->buffers[i], &all->buffers[i]);
        if (code == CL_SUCCESS)
            code = clSetKernelArg(kernel, 1, sizeof out, &out);
        if (code == CL_SUCCESS)
            code = clSetKernelArg(kernel, 2, sizeof number, &number);
        if (code == CL_SUCCESS)
            code = clEnqueueNDRangeKernel(dev->queue, kernel, 3, NULL, one, one, 0, NULL, NULL);
    }
    if (code == CL_SUCCESS)
        code =
            clEnqueueReadBuffer(dev->queue, out, CL_TRUE, 0, bytes, all->addresses, 0, NULL, NULL);
    const tsr_status status =
        code == CL_SUCCESS ? TSR_OK
                           : tsri_opencl_fail_create(dev, code, "reading a chain's addresses");
    if (kernel)
        clReleaseKernel(kernel);
    if (out && tsri_opencl_releasable(dev))
        clReleaseMemObject(out);
    return status;
}

static void write_arguments(const tsri_opencl_launch *launch, const places *all, cl_int *to) {
    const tsri_opencl_trace *trace = launch->trace;
    for (size_t i = 0; trace->kinds[i]; i++) {
        const size_t words = trace->kinds[i] == '8' ? 8 : trace->kinds[i] == 'g' ? 16 : 2;
        if (trace->kinds[i] == 'p')
            memcpy(to, &all->addresses[find_place(all, buffer_of(launch, i))], sizeof(cl_ulong));
        else
            memcpy(to, trace->values[i].words, words * sizeof *to);
        to += words;
    }
}

/* Writes the records of a launch and its stage, from `to` on, and gives their number. */
static size_t write_records(const tsri_opencl_chain *chain, const tsri_opencl_launch *launch,
                            const tsri_opencl_instance *instance, const places *all, cl_int *to) {
    const size_t before =
        launch->before ? write_records(chain, launch->before, instance->before, all, to) : 0;
    cl_int *record = to + before * RECORD;
    record[0] = case_of(chain, instance);
    for (int axis = 0; axis < 3; axis++) {
        record[1 + 3 * axis] = (cl_int)launch->grid[axis].factor;
        record[2 + 3 * axis] = (cl_int)launch->grid[axis].symbols;
        record[3 + 3 * axis] = launch->per_item[axis];
    }
    record[10] =
        (cl_int)(launch->work.factor > INT32_MAX / 64 ? INT32_MAX / 64 : launch->work.factor);
    record[11] = (cl_int)launch->work.symbols;
    write_arguments(launch, all, record + ARGUMENTS);
    return before + 1;
}

static tsr_status make_state(tsr_dev *dev) {
    static char zeros[STATE_BYTES];
    cl_int code = CL_SUCCESS;
    if (dev->chain_state)
        return TSR_OK;
    dev->chain_state = clCreateBuffer(dev->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                      sizeof zeros, zeros, &code);
    return dev->chain_state ? TSR_OK
                            : tsri_opencl_fail_create(dev, code, "creating a chain's state");
}

static tsr_status create_kernel(tsr_plan *plan, tsri_opencl_link *link) {
    tsr_dev *dev = plan->dev;
    const cl_int n = (cl_int)link->n_records, workers = (cl_int)dev->facts.common.compute_units;
    cl_int code = CL_SUCCESS;
    link->kernel = clCreateKernel(plan->chain->program, "tsr_chain", &code);
    if (link->kernel)
        code = clSetKernelArg(link->kernel, 0, sizeof dev->chain_state, &dev->chain_state);
    if (code == CL_SUCCESS)
        code = clSetKernelArg(link->kernel, 1, sizeof link->records, &link->records);
    if (code == CL_SUCCESS)
        code = clSetKernelArg(link->kernel, 2, sizeof n, &n);
    if (code == CL_SUCCESS)
        code = clSetKernelArg(link->kernel, 3, sizeof workers, &workers);
    if (code == CL_SUCCESS)
        code = clSetKernelArg(link->kernel, 4, sizeof plan->dims, &plan->dims);
    return code == CL_SUCCESS ? TSR_OK
                              : tsri_opencl_fail_create(dev, code, "creating a chain's kernel");
}

static tsr_status bind_link(tsr_plan *plan, tsri_opencl_link *link) {
    tsr_dev *dev = plan->dev;
    places all = {0};
    cl_int *records = NULL, code = CL_SUCCESS;
    size_t n = 0;
    tsr_status status = make_state(dev);
    for (uint32_t i = link->first; i < link->end && status == TSR_OK; i++) {
        status = collect(&plan->steps[i].launch, &all);
        n += plan->steps[i].launch.before ? 2 : 1;
    }
    if (status == TSR_OK)
        status = locate(dev, plan->chain, &all);
    if (status == TSR_OK)
        status = tsri_base_new(n * RECORD, sizeof *records, &records);
    for (uint32_t i = link->first, at = 0; i < link->end && status == TSR_OK; i++)
        at += (uint32_t)write_records(plan->chain, &plan->steps[i].launch, plan->steps[i].instance,
                                      &all, records + (size_t)at * RECORD);
    link->n_records = (uint32_t)n;
    if (status == TSR_OK) {
        link->records = clCreateBuffer(dev->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                                       n * RECORD * sizeof *records, records, &code);
        status = link->records ? create_kernel(plan, link)
                               : tsri_opencl_fail_create(dev, code, "creating a chain's records");
    }
    free(records);
    free(all.buffers);
    free(all.addresses);
    return status;
}

tsr_status tsri_opencl_chain_bind(tsr_plan *plan) {
    tsri_opencl_chain_release(plan);
    if (!plan->chain)
        return TSR_OK;
    TRY(tsri_base_new(plan->n_ops ? plan->n_ops : 1, sizeof *plan->links, &plan->links));
    for (uint32_t i = 0, end; i < plan->n_ops; i = end) {
        end = i;
        while (end < plan->n_ops && plan->steps[end].launch.trace)
            end++;
        if (end == i) {
            end++;
            continue;
        }
        tsri_opencl_link *link = &plan->links[plan->n_links++];
        link->first = i;
        link->end = end;
        TRY(bind_link(plan, link));
    }
    return TSR_OK;
}

void tsri_opencl_chain_release(tsr_plan *plan) {
    for (uint32_t i = 0; i < plan->n_links; i++) {
        if (plan->links[i].kernel)
            clReleaseKernel(plan->links[i].kernel);
        if (plan->links[i].records)
            tsri_opencl_release(plan->dev, plan->links[i].records);
    }
    free(plan->links);
    plan->links = NULL;
    plan->n_links = 0;
}

tsr_status tsri_opencl_chain_run(tsr_plan *plan, const tsri_opencl_link *link, cl_event *last) {
    tsr_dev *dev = plan->dev;
    const size_t workers[3] = {dev->facts.common.compute_units, 1, 1}, one[3] = {1, 1, 1};
    dev->busy = true;
    const cl_int code =
        clEnqueueNDRangeKernel(dev->queue, link->kernel, 3, NULL, workers, one, 0, NULL, last);
    return code == CL_SUCCESS ? TSR_OK : tsri_opencl_fail_launch(dev, code, "cl/chain/workers.cl");
}
