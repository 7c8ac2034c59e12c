/* backends/opencl/choose/selftest.c - tries kernels before a plan uses them, and keeps the
 * verdicts. */
#include "backends/opencl/choose/selftest.h"
#include "backends/opencl/choose/select.h"
#include "backends/opencl/device/buffer.h"
#include "backends/opencl/device/failure.h"
#include "backends/opencl/driver/host.h"
#include "backends/opencl/launch/chain.h"
#include "backends/opencl/launch/scratch.h"
#include "backends/opencl/program/constants.h"
#include "backends/opencl/program/program.h"
#include "base/error.h"
#include "base/memory.h"
#include "tensor/blocks.h"
#include "tensor/convert.h"
#include "tensor/operands.h"
#include "tensor/quantize.h"
#include "tensor/sample.h"
#include "tensor/shape.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A kernel and one trial of it. */
typedef struct test {
    tsr_plan *plan;       /* the plan that is about to use the kernel */
    tsri_opencl_step own; /* the trial's step, with the trial's operation */
    tsri_opencl_trial trial;
    tsr_buf buffers[TSRI_OPENCL_OPERANDS];
    void *host[TSRI_OPENCL_OPERANDS]; /* operands as the reference has them */
    void *got[TSRI_OPENCL_OPERANDS];  /* what the kernel wrote */
    bool chained;
    bool defect; /* arguments and parameters differ: an error of this program, not of the device */
    bool launched; /* the kernel was launched: what fails afterwards is its failure */
    cl_mem dims;
} test;

/* --- operands --- */

static tsr_status new_buffer(test *t, uint32_t place, uint64_t bytes, const void *data) {
    tsr_dev *dev = t->plan->dev;
    const tsr_buffer_spec spec = {.struct_size = sizeof spec, .bytes = bytes ? bytes : 4};
    tsr_buf *buf = NULL;
    TRY(tsri_opencl_buffer_create(dev, &spec, &buf));
    t->buffers[place] = *buf;
    free(buf);
    if (!bytes)
        return TSR_OK;
    dev->busy = true;
    const cl_int code = clEnqueueWriteBuffer(dev->queue, t->buffers[place].mem, CL_TRUE, 0,
                                             (size_t)bytes, data, 0, NULL, NULL);
    return code == CL_SUCCESS ? TSR_OK : tsri_opencl_fail(dev, code, "a self-test");
}

/* A weight, stored in the variant's layout. */
static tsr_status place_weight(test *t, uint32_t place, const tsri_opencl_layout *layout) {
    const tsr_tensor *tensor = tsri_opencl_trial_tensor(&t->trial, place);
    const int64_t columns = tsri_tensor_value(tsri_tensor_columns(tensor), t->trial.sizes);
    const int64_t rows = tsri_tensor_value(tsri_tensor_rows(tensor), t->trial.sizes);
    const uint64_t bytes = layout->bytes(rows, columns, tensor->dtype);
    void *stored = NULL;
    TRY(tsri_base_new_aligned(bytes ? (size_t)bytes : 1, &stored));
    layout->store(columns, tensor->dtype, rows, t->host[place], stored);
    const tsr_status status = new_buffer(t, place, bytes, stored);
    free(stored);
    return status;
}

/* Outputs begin as NaN, so that an element that is not written differs. */
static tsr_status place_operand(test *t, uint32_t place, const tsri_opencl_variant *variant) {
    tsr_tensor *tensor = tsri_opencl_trial_tensor(&t->trial, place);
    const bool input = place < t->trial.operation.op.n_in;
    const tsri_opencl_layout *layout =
        input && (int)place == variant->weight_operand ? variant->layout : NULL;
    const uint64_t bytes = tsri_tensor_extent(tensor, t->trial.sizes);
    tensor->buf = &t->buffers[place];
    tensor->layout = layout ? layout->id : 0;
    TRY(tsri_base_new_aligned(bytes ? (size_t)bytes : 1, &t->host[place]));
    if (input)
        TRY(tsri_tensor_sample(&t->trial.operation.op, t->trial.sizes, place, false, 0,
                               tsri_opencl_trial_count(&t->trial, place), (tsr_dtype)tensor->dtype,
                               t->host[place]));
    else
        memset(t->host[place], 0xff, (size_t)bytes);
    return layout ? place_weight(t, place, layout) : new_buffer(t, place, bytes, t->host[place]);
}

static tsr_status place_operands(test *t) {
    int32_t table[TSR_SYMBOL_SETS];
    cl_int code = CL_SUCCESS;
    for (uint32_t i = 0; i < tsri_opencl_trial_operands(&t->trial); i++)
        if (tsri_opencl_trial_tensor(&t->trial, i))
            TRY(place_operand(t, i, t->own.instance->variant));
    tsri_tensor_dims_table(t->trial.sizes, table);
    t->dims = clCreateBuffer(t->plan->dev->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                             sizeof table, table, &code);
    return t->dims ? TSR_OK : tsri_opencl_fail_create(t->plan->dev, code, "clCreateBuffer");
}

/* Memory that a device which never comes to rest may still use is not released. */
static void release(test *t) {
    (void)!tsri_opencl_drain(t->plan->dev);
    tsri_opencl_operation_clear(&t->trial.operation);
    if (!tsri_opencl_releasable(t->plan->dev))
        return;
    for (uint32_t i = 0; i < TSRI_OPENCL_OPERANDS; i++) {
        if (t->buffers[i].mem)
            clReleaseMemObject(t->buffers[i].mem);
        free(t->host[i]);
        free(t->got[i]);
    }
    if (t->dims)
        clReleaseMemObject(t->dims);
}

/* --- the run --- */

/* Launches the kernel by itself, or as the plan does: as a function of its chain. */
static tsr_status launch(test *t) {
    tsr_dev *dev = t->plan->dev;
    tsri_opencl_step *step = &t->own;
    tsr_plan alone = {
        .dev = dev, .n_ops = 1, .steps = step, .chain = t->plan->chain, .dims = t->dims};
    step->operation = t->trial.operation;
    tsr_status status = (t->chained ? tsri_opencl_launch_trace : tsri_opencl_launch_create)(
        dev, step->instance, &t->trial.operation.op, t->dims, &step->launch);
    t->defect = status == TSR_E_INTERNAL;
    if (status == TSR_OK)
        status = tsri_opencl_scratch_grow(dev, step->launch.scratch_bytes);
    if (status == TSR_OK && t->chained)
        status = tsri_opencl_chain_bind(&alone);
    else if (status == TSR_OK)
        status = tsri_opencl_launch_bind_scratch(&step->launch);
    dev->trial = true;
    t->launched = status == TSR_OK;
    if (status == TSR_OK)
        status = t->chained
                     ? tsri_opencl_chain_run(&alone, &alone.links[0], NULL)
                     : tsri_opencl_launch_run(&step->launch, t->trial.sizes, NULL, NULL, NULL);
    dev->trial = false;
    if (status == TSR_OK)
        status = tsri_opencl_drain(dev);
    tsri_opencl_chain_release(&alone);
    tsri_opencl_launch_release(&step->launch);
    return status;
}

static bool is_written(const tsr_op *op, uint32_t place) {
    return place >= op->n_in || tsri_tensor_input_is(op->id, place, TSRI_TENSOR_WRITTEN);
}

static tsr_status read_results(test *t) {
    tsr_dev *dev = t->plan->dev;
    for (uint32_t i = 0; i < tsri_opencl_trial_operands(&t->trial); i++) {
        const tsr_tensor *tensor = tsri_opencl_trial_tensor(&t->trial, i);
        if (!tensor || !is_written(&t->trial.operation.op, i))
            continue;
        const size_t bytes = (size_t)tsri_tensor_extent(tensor, t->trial.sizes);
        if (!bytes)
            continue;
        TRY(tsri_base_new(bytes, 1, &t->got[i]));
        const cl_int code = clEnqueueReadBuffer(dev->queue, t->buffers[i].mem, CL_TRUE, 0, bytes,
                                                t->got[i], 0, NULL, NULL);
        if (code != CL_SUCCESS)
            return tsri_opencl_fail(dev, code, "a self-test");
    }
    return TSR_OK;
}

/* --- the comparison --- */

static const char differs[] = "self-test: element "; /* so begins a verdict about a result */

static double value_at(const tsr_tensor *tensor, const void *data, size_t i) {
    float block[TSRI_TENSOR_BLOCK];
    size_t size;
    switch (tensor->dtype) {
    case TSR_GGML_Q8_0: /* keys and values; no other blocks are written */
        size = (size_t)tsri_tensor_dtype_info(TSR_GGML_Q8_0)->bytes;
        tsri_tensor_unpack(TSR_GGML_Q8_0, (const char *)data + i / TSRI_TENSOR_BLOCK * size, block,
                           TSRI_TENSOR_BLOCK);
        return block[i % TSRI_TENSOR_BLOCK];
    case TSR_F16:
        return (double)tsri_tensor_f16_to_f32(((const uint16_t *)data)[i]);
    case TSR_BF16:
        return (double)tsri_tensor_bf16_to_f32(((const uint16_t *)data)[i]);
    case TSR_I32:
        return (double)((const int32_t *)data)[i];
    default:
        return (double)((const float *)data)[i];
    }
}

/* What an op's products are formed in: a tsr_compute. */
static uint32_t products_of(const tsr_op *op) {
    switch (op->id) {
    case TSR_OP_LINEAR:
    case TSR_OP_EXPERT_LINEAR:
        return ((const tsr_linear_attrs *)op->attrs)->compute;
    case TSR_OP_GLU_LINEAR:
    case TSR_OP_EXPERT_GLU_LINEAR:
        return ((const tsr_glu_linear_attrs *)op->attrs)->compute;
    case TSR_OP_ATTENTION:
        return ((const tsr_attention_attrs *)op->attrs)->compute;
    default:
        return TSR_COMPUTE_F32;
    }
}

/* The largest difference that a correct kernel may show: none for integers; else the rounding of
 * the dtype, of the products' operands and of sums in f32. Attention gives means of values up to 1,
 * which the number of keys makes small. */
static double allowed(const tsr_op *op, uint32_t dtype, double largest) {
    const uint32_t products = products_of(op);
    const double unit = dtype == TSR_I32                                    ? 0
                        : dtype == TSR_BF16 || products == TSR_COMPUTE_BF16 ? 8e-3
                        : dtype == TSR_F16 || dtype == TSR_GGML_Q8_0 || products == TSR_COMPUTE_F16
                            ? 1e-3
                            : 2e-5;
    const double least = op->id == TSR_OP_ATTENTION ? 0.2 : 1;
    return unit * (largest > least ? largest : least);
}

/* Describes the first element of an operand that differs; "" where all agree. */
static void compare(const test *t, uint32_t place, char *verdict, size_t size) {
    const tsr_tensor *tensor = tsri_opencl_trial_tensor(&t->trial, place);
    const size_t n = tsri_opencl_trial_count(&t->trial, place);
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        const double want = value_at(tensor, t->host[place], i);
        largest = isfinite(want) && fabs(want) > largest ? fabs(want) : largest;
    }
    const double bound = allowed(&t->trial.operation.op, tensor->dtype, largest);
    for (size_t i = 0; i < n; i++) {
        const double got = value_at(tensor, t->got[place], i),
                     want = value_at(tensor, t->host[place], i);
        if (fabs(got - want) <= bound || (isinf(want) && got == want) ||
            (isnan(got) && isnan(want)))
            continue;
        snprintf(verdict, size, "%s%zu of %zu is %.9g and should be %.9g", differs, i, n, got,
                 want);
        return;
    }
}

/* The reason is in the host's error record. */
static tsr_status fail_reference(const tsr_host *host, tsr_status status) {
    const bool tells = host->struct_size >= offsetof(tsr_host, reported) + sizeof host->reported;
    const char *why = tells && host->reported ? host->reported(host->data) : "";
    return tsri_base_fail(status, "the reference backend does not run it%s%s", *why ? ": " : "",
                          why);
}

static tsr_status run_and_compare(test *t, char *verdict, size_t size) {
    const tsr_host *host = t->plan->dev->state->host;
    TRY(place_operands(t));
    TRY(launch(t));
    TRY(read_results(t));
    const tsr_status status =
        host->reference(host->data, &t->trial.operation.op, t->trial.sizes, t->host);
    if (status != TSR_OK)
        return fail_reference(host, status);
    for (uint32_t i = 0; i < TSRI_OPENCL_OPERANDS && !*verdict; i++)
        if (t->got[i])
            compare(t, i, verdict, size);
    return TSR_OK;
}

/* --- which trials --- */

/* Whether the variant still fits at these sizes and has the same constants, so that the trial is of
 * this kernel. */
static tsr_status is_same(test *t, bool *same) {
    tsr_dev *dev = t->plan->dev;
    tsri_opencl_instance *instance = t->own.instance, *found = NULL;
    tsri_opencl_wish values = {.variant = instance->variant};
    const char *why;
    for (int i = 0; i < TSRI_OPENCL_TUNABLES; i++) {
        values.set[i] = true; /* other values may be in force at other sizes */
        values.value[i] = instance->values.value[i];
    }
    *same = tsri_opencl_fits(dev, instance->variant, &t->trial.operation.op, &values, false, &why);
    if (*same)
        TRY(tsri_opencl_instance_of(dev, instance->variant, &t->trial.operation.op, &values, NULL,
                                    &found));
    *same &= found == instance;
    return TSR_OK;
}

/* *once: the failure behind the verdict may not come again, so it is not kept. Where the kernel
 * loses the device, this fails, with a verdict for later runs. */
static tsr_status try_axis(tsr_plan *plan, const tsri_opencl_step *step, bool chained, int axis,
                           char *verdict, size_t size, bool *once) {
    test t = {.plan = plan, .chained = chained, .own.instance = step->instance};
    bool usable = false;
    tsr_status status = TSR_OK;
    for (int i = 0; i < TSRI_OPENCL_ATTEMPTS && !usable && status == TSR_OK; i++) {
        tsri_opencl_operation_clear(&t.trial.operation);
        status = tsri_opencl_trial_make(&step->operation.op, axis, i, &t.trial, &usable);
        if (status == TSR_OK && usable)
            status = is_same(&t, &usable);
    }
    if (status == TSR_OK && usable)
        status = run_and_compare(&t, verdict, size);
    else if (status == TSR_OK)
        tsri_opencl_log(plan->dev->state, TSR_LOG_DEBUG,
                        "%s: no self-test along axis %d is small enough to run",
                        step->instance->name, axis);
    release(&t);
    if (status != TSR_OK && plan->dev->poisoned && t.launched) {
        snprintf(verdict, size,
                 "self-test: it lost the device in an earlier run (%.140s), and is tested again a "
                 "day after that",
                 plan->dev->lost);
        return tsri_base_fail_within(status, "the self-test of %s", step->instance->name);
    }
    if (status != TSR_OK && !plan->dev->poisoned && !t.defect) {
        snprintf(verdict, size, "self-test: %.200s", tsri_base_reported());
        *once = status != TSR_E_UNSUPPORTED;
        status = TSR_OK;
    }
    return status;
}

/* Finds, for each axis, the step of the plan that takes the instance farthest along it. */
static void find_farthest(const tsr_plan *plan, const tsri_opencl_instance *instance,
                          const tsri_opencl_step *steps[TSRI_OPENCL_AXES],
                          int64_t most[TSRI_OPENCL_AXES]) {
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        int64_t reach[TSRI_OPENCL_AXES];
        if (plan->steps[i].instance != instance)
            continue;
        tsri_opencl_trial_reach(&plan->steps[i].operation.op, reach);
        for (int axis = 0; axis < TSRI_OPENCL_AXES; axis++)
            if (reach[axis] > most[axis]) {
                most[axis] = reach[axis];
                steps[axis] = &plan->steps[i];
            }
    }
}

/* --- verdicts: kept as "1 64 768 4096\n", then why the kernel is refused, or nothing. One that
 * holds for a time begins with "1 64 768 4096 until SECONDS\n" --- */

/* A line of tuning that a device does not take does not mean that its driver is wrong. */
tsr_status tsri_opencl_refuse_step(const tsr_dev *dev, const tsri_opencl_step *step,
                                   const char *verdict) {
    tsri_opencl_instance *instance = step->instance;
    const tsr_facts *facts = &dev->facts.common;
    const bool wrong = !strncmp(verdict, differs, sizeof differs - 1),
               gives_way = tsri_opencl_gives_way(dev, instance->variant, &step->operation.op,
                                                 &step->forced, &instance->values);
    tsri_opencl_log(dev->state, gives_way && !wrong ? TSR_LOG_INFO : TSR_LOG_WARNING,
                    "%s on %s/%s: %s; %s", instance->name, facts->platform, facts->name, verdict,
                    gives_way                  ? "its default values are used"
                    : instance->variant->plain ? "no other variant takes its place"
                                               : "another variant is used");
    return tsri_opencl_instance_refuse(instance, verdict);
}

/* Looks up what earlier runs have found. */
static tsr_status recall(const tsr_plan *plan, const tsri_opencl_instance *instance,
                         const tsri_opencl_key *within, tsri_opencl_reach *reach, char *verdict,
                         size_t size) {
    tsri_bytes text = {0};
    bool found = false;
    int64_t most[TSRI_OPENCL_AXES];
    long long until = 0;
    int end = 0, more = 0;
    reach->asked = true;
    tsr_status status = tsri_opencl_verdict_load(plan->dev, instance, within, &text, &found);
    if (status == TSR_OK && found && text.data &&
        sscanf(text.data, "%" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 "%n", &most[0], &most[1],
               &most[2], &most[3], &end) == TSRI_OPENCL_AXES) {
        const bool ends = sscanf(text.data + end, " until %lld%n", &until, &more) == 1;
        if (text.data[end + more] == '\n' && (!ends || until > (long long)time(NULL))) {
            memcpy(reach->most, most, sizeof most);
            snprintf(verdict, size, "%s", text.data + end + more + 1);
        }
    }
    tsri_base_bytes_clear(&text);
    return status;
}

/* `until`: " until SECONDS", or "". */
static void save(const tsr_plan *plan, const tsri_opencl_instance *instance,
                 const tsri_opencl_key *within, const tsri_opencl_reach *reach, const char *until,
                 const char *verdict) {
    char text[512];
    snprintf(text, sizeof text, "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "%s\n%s",
             reach->most[0], reach->most[1], reach->most[2], reach->most[3], until, verdict);
    tsri_opencl_verdict_save(plan->dev, instance, within, text);
}

static void keep(const tsr_plan *plan, const tsri_opencl_instance *instance,
                 const tsri_opencl_key *within, const tsri_opencl_reach *reach,
                 const char *verdict) {
    /* A library's variant compiles at its first use. It is tested in each run, so that no run of a
     * plan waits for that. */
    if (!instance->variant->enqueue)
        save(plan, instance, within, reach, "", verdict);
}

/* Later runs do without a kernel that lost the device; after a day, the reason may have passed. */
static void keep_for_a_day(const tsr_plan *plan, const tsri_opencl_instance *instance,
                           const tsri_opencl_key *within, const tsri_opencl_reach *reach,
                           const char *verdict) {
    char until[48];
    snprintf(until, sizeof until, " until %lld", (long long)time(NULL) + TSRI_OPENCL_TRIED_AGAIN);
    save(plan, instance, within, reach, until, verdict);
}

/* Tests the kernel; the verdict is "" where it may be used, else why not. */
static tsr_status test_kernel(tsr_plan *plan, const tsri_opencl_step *step, bool chained,
                              char *verdict, size_t size) {
    const tsri_opencl_instance *instance = step->instance;
    const tsri_opencl_key *within = chained ? tsri_opencl_chain_key(plan) : NULL;
    tsri_opencl_reach *reach =
        chained ? tsri_opencl_chain_reach(plan, step) : &step->instance->reach;
    const tsri_opencl_step *farthest[TSRI_OPENCL_AXES] = {NULL};
    int64_t most[TSRI_OPENCL_AXES] = {0};
    bool tested = false, once = false;
    *verdict = 0;
    if (!reach->asked)
        TRY(recall(plan, instance, within, reach, verdict, size));
    find_farthest(plan, instance, farthest, most);
    for (int axis = 0; axis < TSRI_OPENCL_AXES && !*verdict; axis++) {
        if (most[axis] <= reach->most[axis])
            continue;
        if (tsri_opencl_stops(plan->dev->state))
            return tsri_base_fail(TSR_E_CANCELLED, "stopped while testing kernels");
        const tsr_status status =
            try_axis(plan, farthest[axis], chained, axis, verdict, size, &once);
        if (status != TSR_OK && *verdict)
            keep_for_a_day(plan, instance, within, reach, verdict);
        TRY(status);
        reach->most[axis] = most[axis];
        tested = true;
    }
    if (tested && !once)
        keep(plan, instance, within, reach, verdict);
    return TSR_OK;
}

/* A kernel that gives wrong results only in a chain is correct by itself: the chain is given up, and
 * what takes its place is chosen again. */
static tsr_status test_step(tsr_plan *plan, const tsri_opencl_step *step, bool *refused) {
    const bool chained = tsri_opencl_chain_has(plan, step);
    char verdict[256], alone[256] = "";
    TRY(test_kernel(plan, step, chained, verdict, sizeof verdict));
    *refused = *verdict;
    if (!*refused)
        return TSR_OK;
    if (chained)
        TRY(tsri_opencl_build(plan->dev, &step->instance, 1));
    if (step->instance->state == TSRI_OPENCL_REFUSED)
        return TSR_OK;
    if (chained)
        TRY(test_kernel(plan, step, false, alone, sizeof alone));
    if (!chained || *alone)
        return tsri_opencl_refuse_step(plan->dev, step, chained ? alone : verdict);
    tsri_opencl_log(
        plan->dev->state, TSR_LOG_WARNING,
        "%s as one of many kernels in a launch, on %s/%s: %s; each kernel is launched by itself",
        step->instance->name, plan->dev->facts.common.platform, plan->dev->facts.common.name,
        verdict);
    tsri_opencl_chain_refuse(plan);
    return TSR_OK;
}

static bool seen_before(const tsr_plan *plan, uint32_t step) {
    for (uint32_t i = 0; i < step; i++)
        if (plan->steps[i].instance == plan->steps[step].instance)
            return true;
    return false;
}

static bool to_test(const tsr_plan *plan, uint32_t step) {
    return !plan->steps[step].instance->bundled && !seen_before(plan, step);
}

tsr_status tsri_opencl_self_test(tsr_plan *plan, bool *again) {
    const tsr_host *host = plan->dev->state->host;
    if (host->struct_size < sizeof *host || !host->reference)
        return TSR_OK;
    uint32_t n = 0, done = 0;
    for (uint32_t i = 0; i < plan->n_ops; i++)
        n += to_test(plan, i);
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        bool refused = false;
        if (!to_test(plan, i))
            continue;
        TRY(tsri_opencl_progress(plan->dev->state, "testing kernels", done++, n));
        TRY(test_step(plan, &plan->steps[i], &refused));
        *again |= refused;
        if (refused && !plan->chain)
            break;
    }
    return tsri_opencl_progress(plan->dev->state, "testing kernels", n, n);
}
