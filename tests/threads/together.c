/* Runs a function in several threads that begin together, and the device that they use. */
#include "threads/threads.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct worker {
    pthread_t thread;
    pthread_barrier_t *begin;
    void (*body)(int thread, void *data);
    void *data;
    int number;
} worker;

static void *work(void *given) {
    const worker *w = given;
    pthread_barrier_wait(w->begin);
    w->body(w->number, w->data);
    return NULL;
}

void together(int n, void (*body)(int thread, void *data), void *data) {
    worker *all = calloc((size_t)n, sizeof *all);
    pthread_barrier_t begin;
    cr_assert(all && pthread_barrier_init(&begin, NULL, (unsigned)n) == 0);
    for (int i = 0; i < n; i++) {
        all[i] = (worker){.begin = &begin, .body = body, .data = data, .number = i};
        cr_assert_eq(pthread_create(&all[i].thread, NULL, work, &all[i]), 0);
    }
    for (int i = 0; i < n; i++)
        pthread_join(all[i].thread, NULL);
    pthread_barrier_destroy(&begin);
    free(all);
}

const char *test_device(void) {
    const char *given = getenv("TESSERA_TEST_DEVICES");
    return given && *given ? given : "pocl";
}

void need_device(void) {
    tsr_engine *engine = NULL;
    tsr_device *device = NULL;
    cr_assert_eq(tsr_engine_create(NULL, &engine), TSR_OK, "%s", tsr_error_last());
    const tsr_status status = tsr_device_open(engine, test_device(), NULL, &device);
    tsr_device_close(&device);
    tsr_engine_destroy(&engine);
    if (status != TSR_OK)
        cr_skip_test("no device %s: %s", test_device(), tsr_error_last());
}

/* A vendor file may stand in the place of the folder. */
void need_pocl_alone(void) {
    const char *vendors = getenv("OCL_ICD_VENDORS");
    char path[4096];
    snprintf(path, sizeof path, "%s/pocl.icd",
             vendors && *vendors ? vendors : "/etc/OpenCL/vendors");
    if (access(path, R_OK) != 0)
        cr_skip_test("%s is missing", path);
    setenv("OCL_ICD_VENDORS", path, 1);
}
