/* A process that is forked from one with open devices has none of their drivers' threads: each call
 * there says so, and none hangs. */
#include "threads/threads.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE = 60 };

/* Runs the body in a forked process, which ends by exit(): with its handlers. */
static void forked(int (*body)(void *data), void *data) {
    int status = 0;
    const pid_t child = fork();
    cr_assert_geq(child, 0);
    if (!child) {
        alarm(PATIENCE);
        exit(body(data));
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFEXITED(status), "the forked process ended by signal %d (%d: it hung)",
              WTERMSIG(status), SIGALRM);
    cr_expect_eq(WEXITSTATUS(status), 0, "check %d of the forked process failed",
                 WEXITSTATUS(status));
}

typedef struct opened {
    tsr_engine *engine;
    tsr_device *device;
    tsr_model *model;
} opened;

static int stop(void *data, const tsr_generated *generated) {
    (void)data, (void)generated;
    return 0;
}

static tsr_status generate(tsr_model *model) {
    static const int32_t nine = 9;
    const tsr_prompt prompt = {.struct_size = sizeof prompt, .n_ids = 1, .ids = &nine};
    const tsr_prompt *const prompts[] = {&prompt};
    tsr_generate_options options = {.struct_size = sizeof options};
    tsr_status status = tsr_generate_defaults(model, &options);
    options.max_new_tokens = 4;
    options.ignore_eos = 1;
    return status == TSR_OK ? tsr_generate(model, prompts, 1, &options, stop, NULL, NULL) : status;
}

static int use_what_is_open(void *data) {
    opened *o = data;
    tsr_device *device = NULL;
    if (generate(o->model) != TSR_E_STATE || !strstr(tsr_error_last(), "forked"))
        return 1;
    if (tsr_device_open(o->engine, test_device(), NULL, &device) != TSR_E_STATE ||
        !strstr(tsr_error_last(), "forked"))
        return 2;
    tsr_model_close(&o->model);
    tsr_device_close(&o->device);
    tsr_engine_destroy(&o->engine);
    return 0;
}

static int only_end(void *data) {
    (void)data;
    return 0;
}

static bool noted(const tsr_engine *engine, const char *word) {
    for (size_t i = 0; i < tsr_engine_note_count(engine); i++)
        if (strstr(tsr_engine_note(engine, i), word))
            return true;
    return false;
}

/* The library's own device has no driver. */
static int begin_anew(void *data) {
    (void)data;
    tsr_engine *engine = NULL;
    tsr_device *device = NULL;
    int32_t ids[TOKENS];
    if (tsr_engine_create(NULL, &engine) != TSR_OK || !noted(engine, "forked"))
        return 1;
    if (tsr_device_open(engine, "reference", NULL, &device) != TSR_OK ||
        continue_nine(device, ids) != TSR_OK)
        return 2;
    tsr_device_close(&device);
    tsr_engine_destroy(&engine);
    return 0;
}

Test(forks, what_is_open_does_not_go_along) {
    opened o = {NULL};
    need_device();
    cr_assert_eq(tsr_engine_create(NULL, &o.engine), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsr_device_open(o.engine, test_device(), NULL, &o.device), TSR_OK, "%s",
                 tsr_error_last());
    cr_assert_eq(tsr_model_open(TESSERA_SOURCE_DIR "/tests/golden/models/gpt2-tiny", o.device, NULL,
                                &o.model),
                 TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(generate(o.model), TSR_OK, "%s", tsr_error_last());
    forked(use_what_is_open, &o);
    forked(only_end, NULL);
    forked(begin_anew, NULL);
    cr_expect_eq(generate(o.model), TSR_OK, "the process that opened it goes on: %s",
                 tsr_error_last());
    tsr_model_close(&o.model);
    tsr_device_close(&o.device);
    tsr_engine_destroy(&o.engine);
}

static int run_on_the_device(void *data) {
    (void)data;
    tsr_engine *engine = NULL;
    tsr_device *device = NULL;
    int32_t ids[TOKENS];
    if (tsr_engine_create(NULL, &engine) != TSR_OK ||
        tsr_device_open(engine, test_device(), NULL, &device) != TSR_OK ||
        continue_nine(device, ids) != TSR_OK)
        return 1;
    tsr_device_close(&device);
    tsr_engine_destroy(&engine);
    return 0;
}

Test(forks, a_process_forked_before_any_engine_has_all) {
    const char *chosen = getenv("TESSERA_TEST_DEVICES"); /* need_device would load the driver */
    if (chosen && strcmp(chosen, "pocl") != 0)
        cr_skip_test("on pocl alone");
    need_pocl_alone();
    forked(run_on_the_device, NULL);
}
