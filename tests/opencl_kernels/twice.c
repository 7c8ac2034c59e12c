/* Every kernel file builds several times in one program, with different constants, as OpenCL C 1.1
 * and 1.2; and a variant binds the parameters that its kernel has, by their names and in their
 * order. The ops are those of src/cases that fit the variant. */
#include "backends/opencl/variants/shared/group.h"
#include "backends/opencl/variants/shared/weighted.h"
#include "backends/opencl/variants/variants.h"
#include "recorder.h"
#include "tensor/quantize.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SOURCE = 1 << 20 };

static struct {
    cl_device_id device;
    cl_context context;
} driver;

/* Opens the first CPU device of pocl; false where there is none. */
static bool open_driver(void) {
    cl_platform_id platforms[16];
    cl_uint n = 0;
    if (clGetPlatformIDs(16, platforms, &n) != CL_SUCCESS)
        return false;
    for (cl_uint i = 0; i < n && i < 16; i++) {
        char name[128] = "";
        clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
        if (strstr(name, "Portable Computing Language") &&
            clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &driver.device, NULL) ==
                CL_SUCCESS) {
            driver.context = clCreateContext(NULL, 1, &driver.device, NULL, NULL, NULL);
            return driver.context != NULL;
        }
    }
    return false;
}

static void append_file(char *source, const char *path) {
    char full[512];
    size_t used = strlen(source);
    snprintf(full, sizeof full, "%s/cl/%s", TESSERA_SOURCE_DIR, path);
    FILE *file = fopen(full, "rb");
    cr_assert_not_null(file, "%s", full);
    used += fread(source + used, 1, MAX_SOURCE - used - 1, file);
    source[used] = 0;
    fclose(file);
}

/* A kernel of a variant: its own, or its stage's. */
typedef struct kernel_of {
    const tsri_opencl_variant *variant;
    const char *file;
    void (*define)(const tsri_opencl_variant *variant, const tsr_op *op,
                   tsri_opencl_defines *defines);
    void (*bind)(const tsri_opencl_variant *variant, const tsr_op *op, tsri_opencl_launch *launch);
    bool tunables; /* whether all tunables of the variant are defined */
} kernel_of;

static kernel_of own_kernel(const tsri_opencl_variant *variant) {
    return (kernel_of){variant, variant->file, variant->define, variant->bind, true};
}

static kernel_of stage_kernel(const tsri_opencl_variant *variant) {
    const tsri_opencl_stage *stage = variant->before;
    return (kernel_of){variant, stage->file, stage->define, stage->bind, false};
}

static void append_instance(char *source, const kernel_of *kernel, const sample *s, int number) {
    const tsri_opencl_variant *variant = kernel->variant;
    tsri_opencl_defines defines = {.variant = variant};
    if (kernel->define)
        kernel->define(variant, &s->op, &defines);
    for (int i = 0; i < TSRI_OPENCL_TUNABLES && kernel->tunables && variant->tunables[i].name; i++)
        tsri_opencl_define_int(&defines, variant->tunables[i].name, variant->tunables[i].value);
    const size_t used = strlen(source);
    snprintf(source + used, MAX_SOURCE - used, "#define INSTANCE k%d\n#define KERNEL k%d\n%s",
             number, number, defines.text);
    append_file(source, kernel->file);
    strcat(source, "\n#undef INSTANCE\n#undef KERNEL\n");
    strcat(source, defines.undefine);
}

/* The defaults of a variant for GPUs are legal on all GPUs that it fits, with room for a second
 * work-group; but for few_int8 with blocks of 256, which have more scales (cl/linear/few_int8.cl). A kernel
 * without local memory may leave the work-group to the backend. */
static void check_safe(cl_kernel kernel, const tsri_opencl_variant *variant, const tsr_op *op) {
    size_t group[3] = {0};
    cl_ulong local = 0;
    const bool wide = strstr(variant->file, "linear/few_int8.cl") &&
                      !tsri_tensor_is_small_blocks((tsr_dtype)op->in[1]->dtype);
    clGetKernelWorkGroupInfo(kernel, driver.device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof group,
                             group, NULL);
    clGetKernelWorkGroupInfo(kernel, driver.device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof local, &local,
                             NULL);
    cr_expect((group[0] || !local) && group[0] * group[1] * group[2] <= 64,
              "op %d, variant %s: a work-group of %zux%zux%zu", variant->op, variant->name,
              group[0], group[1], group[2]);
    cr_expect(local <= (wide ? 32768 : 16384), "op %d, variant %s: %llu bytes of local memory",
              variant->op, variant->name, (unsigned long long)local);
}

static void check_arguments(cl_program program, const kernel_of *of, const sample *s, int number) {
    char name[16];
    cl_uint wanted = 0;
    const tsri_opencl_variant *variant = of->variant;
    tsri_opencl_launch launch = {.variant = variant};
    snprintf(name, sizeof name, "k%d", number);
    cl_kernel kernel = clCreateKernel(program, name, NULL);
    cr_assert_not_null(kernel, "%s has no kernel %s", of->file, name);
    clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof wanted, &wanted, NULL);
    of->bind(variant, &s->op, &launch);
    cr_expect_eq(launch.arguments, wanted, "op %d, variant %s: binds %u arguments, %s takes %u",
                 variant->op, variant->name, launch.arguments, of->file, wanted);
    for (cl_uint i = 0; i < wanted && i < launch.arguments; i++) {
        char given[64] = "";
        clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_NAME, sizeof given, given, NULL);
        cr_expect_str_eq(given, launch.names[i],
                         "op %d, variant %s: parameter %u of %s is \"%s\"; \"%s\" is bound there",
                         variant->op, variant->name, i, of->file, given, launch.names[i]);
    }
    cr_expect(launch.grid, "op %d, variant %s states no grid for %s", variant->op, variant->name,
              of->file);
    const tsri_opencl_facts small = sample_gpu();
    const char *why;
    if (variant->gpu && of->tunables && variant->fits(variant, &small, &s->op, &why))
        check_safe(kernel, variant, &s->op);
    clReleaseKernel(kernel);
}

/* Builds a source with the names of parameters; fails the test, naming `what`, where it can't. */
static cl_program build(const char *source, const char *options, const char *what) {
    /* Vectors that are wider than the processor's registers are no fault. */
    const char *texts[] = {"#pragma clang diagnostic ignored \"-Wpsabi\"\n", source};
    char all[768];
    snprintf(all, sizeof all, "%s -cl-kernel-arg-info -I%s/cl", options, TESSERA_SOURCE_DIR);
    cl_program program = clCreateProgramWithSource(driver.context, 2, texts, NULL, NULL);
    if (clBuildProgram(program, 1, &driver.device, all, NULL, NULL) != CL_SUCCESS) {
        static char log[16384];
        clGetProgramBuildInfo(program, driver.device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log,
                              NULL);
        cr_assert_fail("%s, built with \"%s\": %s", what, options, log);
    }
    return program;
}

static void build_several(const kernel_of *kernel, const char *options) {
    char *source = calloc(1, MAX_SOURCE);
    const sample *samples[SAMPLES];
    const int chosen = choose_samples(kernel->variant, samples);
    int n = 0;
    for (int i = 0; i < chosen; i++) /* a stage, for the ops that need it */
        if (kernel->tunables || tsri_opencl_stage_of(kernel->variant, &samples[i]->op))
            samples[n++] = samples[i];
    cr_assert_not_null(source);
    cr_expect(n || !chosen, "op %d, variant %s: no sample needs its stage %s", kernel->variant->op,
              kernel->variant->name, kernel->file);
    append_file(source, "common/tessera.clh");
    append_file(source, "common/group.clh");
    for (int i = 0; i < n; i++)
        append_instance(source, kernel, samples[i], i);
    cl_program program = build(source, options, kernel->file);
    for (int i = 0; i < n; i++)
        check_arguments(program, kernel, samples[i], i);
    clReleaseProgram(program);
    free(source);
}

/* Ids of ops; some numbers may be kept for ops to come. */
static const tsr_op_id listed[] = {
#define ID(id, name, attributes) TSR_OP_##id,
    TSR_OP_LIST(ID)
#undef ID
};
#define N_LISTED (sizeof listed / sizeof *listed)

/* pocl has no sub-groups, dot products, halves. The parameters of variants with these are compared where a device
 * launches them. */
static bool is_built_here(const tsri_opencl_variant *variant) {
    const tsri_opencl_stage *stage = variant->before;
    return variant->file && !variant->newest_c && !(stage && stage->newest_c);
}

Test(opencl_kernels, twice) {
    if (!open_driver())
        cr_skip_test("no pocl CPU device");
    for (size_t i = 0; i < N_LISTED; i++) {
        const tsri_opencl_variant *variant = tsri_opencl_variants_of(listed[i]);
        cr_expect_not_null(variant, "op %d has no variant", listed[i]);
        for (; variant && variant->name; variant++) {
            if (!is_built_here(variant))
                continue;
            const kernel_of own = own_kernel(variant);
            build_several(&own, "-cl-std=CL1.2");
            if (variant->plain)
                build_several(&own, "-cl-std=CL1.1");
            if (variant->before) {
                const kernel_of stage = stage_kernel(variant);
                build_several(&stage, "-cl-std=CL1.2");
            }
        }
    }
    clReleaseContext(driver.context);
}

/* Appends the kernels of the variants that are wanted, and of their stages. */
static void append_all(char *source, bool (*wanted)(const tsri_opencl_variant *variant)) {
    int number = 0;
    for (size_t n = 0; n < N_LISTED; n++)
        for (const tsri_opencl_variant *variant = tsri_opencl_variants_of(listed[n]);
             variant && variant->name; variant++) {
            const sample *samples[SAMPLES];
            if (!wanted(variant) || !choose_samples(variant, samples))
                continue;
            const kernel_of own = own_kernel(variant);
            append_instance(source, &own, samples[0], number++);
            if (tsri_opencl_stage_of(variant, &samples[0]->op)) {
                const kernel_of stage = stage_kernel(variant);
                append_instance(source, &stage, samples[0], number++);
            }
        }
}

/* A task's kernels share one program: no file leaves a macro or a name defined, and none gives a
 * warning. */
Test(opencl_kernels, together) {
    if (!open_driver())
        cr_skip_test("no pocl CPU device");
    char *source = calloc(1, MAX_SOURCE);
    cr_assert_not_null(source);
    append_file(source, "common/tessera.clh");
    append_file(source, "common/group.clh");
    append_all(source, is_built_here);
    clReleaseProgram(build(source, "-cl-std=CL1.2 -Werror", "in one program"));
    clReleaseContext(driver.context);
    free(source);
}

/* In the program of a chain, kernels are functions; the variants that may be part of one leave no
 * kernel in it. */
Test(opencl_kernels, as_functions_of_a_chain) {
    if (!open_driver())
        cr_skip_test("no pocl CPU device");
    char *source = calloc(1, MAX_SOURCE);
    cr_assert_not_null(source);
    strcpy(source, "#define TSR_CHAIN\n");
    append_file(source, "common/tessera.clh");
    append_file(source, "common/group.clh");
    append_all(source, tsri_opencl_variant_chains);
    cl_program program = build(source, "-cl-std=CL1.2 -Werror", "as functions");
    size_t kernels = 1;
    clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof kernels, &kernels, NULL);
    cr_expect_eq(kernels, 0, "%zu kernels don't begin with ENTRY", kernels);
    clReleaseProgram(program);
    clReleaseContext(driver.context);
    free(source);
}

/* Where too few cases fit a variant, verify doesn't show much about it, nor do these tests. */
Test(opencl_kernels, every_variant_has_cases) {
    for (size_t n = 0; n < N_LISTED; n++)
        for (const tsri_opencl_variant *variant = tsri_opencl_variants_of(listed[n]);
             variant && variant->name; variant++) {
            const sample *samples[SAMPLES];
            cr_expect_geq(choose_samples(variant, samples), 2, "op %d, variant %s: no case fits",
                          variant->op, variant->name);
        }
}

/* Products in half precision are refused, with a message, where the device does not have them or
 * the op asks for f32. */
Test(opencl_kernels, halves_are_for_those_who_ask_and_have_them) {
    static const tsr_op_id ops[] = {TSR_OP_LINEAR, TSR_OP_GLU_LINEAR};
    int refused = 0;
    for (int i = 0; i < 4; i++)
        for (const tsri_opencl_variant *variant = tsri_opencl_variants_of(ops[i % 2]);
             variant->name; variant++) {
            const char *why = "";
            tsri_opencl_facts facts = sample_gpu();
            const sample *samples[SAMPLES];
            if (variant->define != tsri_opencl_define_tiled_half)
                continue;
            cr_assert_gt(choose_samples(variant, samples), 0);
            sample s = *samples[0];
            tsri_case_attrs attrs = {0};
            memcpy(&attrs, s.op.attrs, i % 2 ? sizeof attrs.glu_linear : sizeof attrs.linear);
            uint32_t *compute = i % 2 ? &attrs.glu_linear.compute : &attrs.linear.compute;
            *compute = i < 2 ? TSR_COMPUTE_F32 : TSR_COMPUTE_F16;
            s.op.attrs = &attrs;
            facts.extension_fp16 = i < 2;
            refused += !variant->fits(variant, &facts, &s.op, &why) &&
                       strstr(why, i < 2 ? "this op asks for others" : "needs cl_khr_fp16") != NULL;
        }
    cr_expect_eq(refused, 8);
}

/* The variant that a device gets for an op. */
static const tsri_opencl_variant *best(const tsri_opencl_facts *facts, const tsr_op *op) {
    const tsri_opencl_variant *found = NULL;
    for (const tsri_opencl_variant *variant = tsri_opencl_variants_of((tsr_op_id)op->id);
         variant && variant->name; variant++) {
        const char *why = "";
        if ((!variant->fits || variant->fits(variant, facts, op, &why)) &&
            (!found ||
             tsri_opencl_variant_score(variant, facts) > tsri_opencl_variant_score(found, facts)))
            found = variant;
    }
    return found;
}

/* A norm of x is taken by variants with work-groups alone: elsewhere it is an op of its own. */
static bool is_normed(const sample *s) {
    return (s->op.id == TSR_OP_LINEAR || s->op.id == TSR_OP_GLU_LINEAR) &&
           tsri_opencl_norm_of(&s->op);
}

Test(opencl_kernels, variants_for_gpus_are_chosen_on_gpus_alone) {
    tsri_opencl_facts facts[] = {sample_gpu(), sample_gpu(), sample_cpu(), sample_cpu(),
                                 sample_cpu()};
    facts[1].common.local_memory = 0; /* less than any variant with work-groups needs */
    facts[3].common.type = TSR_DEVICE_ACCELERATOR;
    facts[3].cpu = facts[3].vector16 = false;
    facts[4].common.type = TSR_DEVICE_OTHER;
    facts[4].cpu = facts[4].vector16 = false;
    int chosen = 0; /* ops that have a variant with work-groups on a small GPU */
    for (size_t n = 0; n < N_LISTED; n++) {
        const sample_list *all = samples_of(listed[n]);
        bool any = false;
        for (size_t i = 0; i < all->n; i++)
            for (size_t f = 0; f < sizeof facts / sizeof *facts; f++) {
                const int op = listed[n];
                const char *name = all->samples[i].name;
                const tsri_opencl_variant *variant = best(&facts[f], &all->samples[i].op);
                if (is_normed(&all->samples[i])) {
                    cr_expect(f == 1 ? !variant : f > 1 || !variant || variant->gpu,
                              "op %d, %s, device %zu: a norm is taken by %s", op, name, f,
                              variant ? variant->name : "none");
                    continue;
                }
                cr_assert(variant, "op %d, %s, device %zu: no variant", op, name, f);
                cr_expect(f < 2 || !variant->gpu, "op %d, %s, device %zu: %s", op, name, f,
                          variant->name);
                cr_expect(f < 2 || facts[f].cpu || variant->plain, "op %d, %s, device %zu: %s", op,
                          name, f, variant->name);
                cr_expect(f > 1 || !variant->batch_variant, "op %d, %s, device %zu: %s varies", op,
                          name, f, variant->name);
                cr_expect(f > 1 || variant->gpu || variant->plain, "op %d, %s, a GPU: %s", op, name,
                          variant->name);
                any |= f == 0 && variant->gpu;
            }
        chosen += any;
    }
    cr_expect(chosen >= 3, "a small GPU gets variants with work-groups for %d ops", chosen);
}

Test(opencl_kernels, plain_row_is_last_and_no_row_is_beyond_the_most_that_are_chosen_from) {
    for (size_t n = 0; n < N_LISTED; n++) {
        const int op = listed[n];
        const tsri_opencl_variant *variant = tsri_opencl_variants_of((tsr_op_id)op), *last = NULL;
        int count = 0;
        for (; variant && variant->name; variant++, count++)
            last = variant;
        cr_expect(count <= TSRI_OPENCL_MAX_VARIANTS, "op %d has %d variants", op, count);
        cr_assert_not_null(last, "op %d has no variant", op);
        cr_expect(last->plain && !last->layout && !last->batch_variant, "op %d ends with %s", op,
                  last->name);
    }
}
