/* A model on a device, with the counting layer below the plugin: the programs that a task builds,
 * and what a step allocates. */
#include "model/model.h"
#include "opencl/allocations.h"
#include "tessera/device.h"
#include "tessera/generate.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static char folder[128];
static tsr_engine *engine;
static tsr_device *device;
static tsr_model *model;
static long (*calls)(const char *);

#define OK(call) cr_assert((call) == TSR_OK, "%s", tsr_error_last())

static void begin(void) {
    const tsr_engine_options options = {.struct_size = sizeof options};
    const tsr_device_open_options device_options = {.struct_size = sizeof device_options};
    const tsr_model_options model_options = {.struct_size = sizeof model_options};
    const char *lane = getenv("TESSERA_TEST_PLATFORM"), *source = getenv("TESSERA_SOURCE");
    char path[1024];
    snprintf(path, sizeof path, "%s/models/shakespeare", source ? source : ".");
    snprintf(folder, sizeof folder, "%s/tessera-task-XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    cr_assert_not_null(mkdtemp(folder));
    setenv("TESSERA_CACHE", folder, 1);
    setenv("OPENCL_LAYERS", COUNT_LAYER, 1);
    OK(tsr_engine_create(&options, &engine));
    if (tsr_device_open(engine, lane && *lane ? lane : "Portable Computing Language",
                        &device_options, &device) != TSR_OK)
        cr_skip_test("%s", tsr_error_last());
    OK(tsr_model_open(path, device, &model_options, &model));
    void *layer = dlopen(COUNT_LAYER, RTLD_NOW | RTLD_NOLOAD);
    cr_assert_not_null(layer, "the OpenCL loader ignores OPENCL_LAYERS");
    *(void **)&calls = dlsym(layer, "count_calls");
    cr_assert(calls && calls("clCreateContext") > 0, "the layer is below the plugin");
}

static void end(void) {
    char command[256];
    tsr_model_close(&model);
    tsr_device_close(&device);
    tsr_engine_destroy(&engine);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert_eq(*folder ? system(command) : 0, 0);
}

TestSuite(opencl_task, .init = begin, .fini = end);

static void generate(const uint32_t *lengths, uint32_t n) {
    int32_t ids[128];
    tsr_prompt prompts[4];
    const tsr_prompt *list[4];
    tsr_generate_options options = {.struct_size = sizeof options};
    OK(tsr_generate_defaults(model, &options));
    options.temperature = 0;
    options.max_new_tokens = 3;
    options.ignore_eos = 1;
    for (int32_t i = 0; i < 128; i++)
        ids[i] = i % 60 + 1;
    for (uint32_t i = 0; i < n; i++) {
        prompts[i] = (tsr_prompt){.struct_size = sizeof *prompts, .n_ids = lengths[i], .ids = ids};
        list[i] = &prompts[i];
    }
    OK(tsr_generate(model, list, n, &options, NULL, NULL, NULL));
}

/* Programs have the kernels that a chain joins, for a prompt or for a token of each sequence, and
 * those that are launched by themselves: three serve one sequence, whatever its length, and two more
 * serve several. */
Test(opencl_task, a_few_programs_serve_all_prompts) {
    static const uint32_t lengths[] = {1, 5, 40, 100};
    for (int i = 0; i < 4; i++) {
        generate(&lengths[i], 1);
        cr_expect_leq(calls("clBuildProgram"), 3, "a prompt of %u tokens", lengths[i]);
    }
    generate(lengths, 3);
    cr_expect_leq(calls("clBuildProgram"), 5, "three prompts at once");
    cr_expect_geq(calls("clBuildProgram"), 1);
}

Test(opencl_task, a_decode_step_allocates_nothing) {
    static const char *const forbidden[] = {"clCreateBuffer", "clCreateKernel", "clSetKernelArg",
                                            "clBuildProgram"};
    enum { FIRST = 3, STEPS = 20 };
    tsri_session *session = NULL;
    int32_t id = 7, next = 0;
    long before[4];
    tsri_model_sequence sequence = {.ids = &id, .n = 1};
    const tsri_model_results results = {.argmax = &next};
    OK(tsri_session_create(tsri_model_of(model), 1, 0, &session));
    for (; sequence.past < FIRST; sequence.past++)
        OK(tsri_session_forward(session, &sequence, 1, &results));
    for (int i = 0; i < 4; i++)
        before[i] = calls(forbidden[i]);
    const bool can = allocations_begin();
    tsr_status status = TSR_OK;
    for (; sequence.past < FIRST + STEPS && status == TSR_OK; sequence.past++) {
        status = tsri_session_forward(session, &sequence, 1, &results);
        id = next;
    }
    const long made = allocations_end();
    OK(status);
    for (int i = 0; i < 4; i++)
        cr_expect_eq(calls(forbidden[i]), before[i], "%s", forbidden[i]);
    cr_expect_eq(made, 0, "%ld allocations in %d steps", made, STEPS);
    tsri_session_destroy(&session);
    if (can) { /* creating a larger session allocates, so the counter works */
        cr_expect(allocations_begin());
        OK(tsri_session_create(tsri_model_of(model), 2, 0, &session));
        cr_expect_gt(allocations_end(), 0);
        tsri_session_destroy(&session);
    }
}

/* Counts the kernel launches for one token: those of each layer, and those around the layers. */
static void count_launches(tsr_model *of, int64_t around) {
    tsri_session *session = NULL;
    tsr_model_info info = {.struct_size = sizeof info};
    int32_t id = 7, next = 0;
    tsri_model_sequence sequence = {.ids = &id, .n = 1};
    const tsri_model_results results = {.argmax = &next};
    OK(tsr_model_info_get(of, &info));
    OK(tsri_session_create(tsri_model_of(of), 1, 0, &session));
    OK(tsri_session_forward(session, &sequence, 1, &results));
    sequence.past++;
    const long before = calls("clEnqueueNDRangeKernel");
    OK(tsri_session_forward(session, &sequence, 1, &results));
    const long made = calls("clEnqueueNDRangeKernel") - before;
    cr_expect(made > 0 && made <= 8 * info.layers + around,
              "%ld launches for %lld layers and %lld around them", made, (long long)info.layers,
              (long long)around);
    tsri_session_destroy(&session);
}

/* qkv, append, attention, out, add_norm, up (gate and up), down, add_norm. */
Test(opencl_task, a_layer_takes_eight_launches) {
    const tsr_model_options options = {.struct_size = sizeof options};
    const char *source = getenv("TESSERA_SOURCE");
    char path[1024];
    tsr_model *llama = NULL;
    count_launches(model, 7); /* two embeddings, a sum, two picks, logits, argmax */
    snprintf(path, sizeof path, "%s/tests/golden/models/llama-tiny", source ? source : ".");
    OK(tsr_model_open(path, device, &options, &llama));
    count_launches(llama, 6); /* an embedding, a norm, two picks, logits, argmax */
    tsr_model_close(&llama);
}
