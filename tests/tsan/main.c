/* Engines in several threads, under ThreadSanitizer: Criterion's processes do not start there, so a
 * program of its own. Its argument is the device; with "race" it has a data race on purpose, which
 * must be reported, or the lane proves nothing. */
#include "threads/nine.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 4 };

typedef struct shared {
    tsr_engine *engine; /* NULL: each thread has its own */
    const char *selector;
    pthread_barrier_t begin;
    int32_t ids[THREADS][TOKENS];
} shared;

typedef struct worker {
    shared *all;
    int number;
} worker;

static atomic_int failures;

static void fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, tsr_error_last());
    atomic_fetch_add(&failures, 1);
}

static void *work(void *given) {
    worker *w = given;
    tsr_engine *engine = w->all->engine;
    tsr_device *device = NULL;
    pthread_barrier_wait(&w->all->begin);
    if (!engine && tsr_engine_create(NULL, &engine) != TSR_OK)
        fail("tsr_engine_create");
    else if (tsr_device_open(engine, w->all->selector, NULL, &device) != TSR_OK)
        fail("tsr_device_open");
    else if (continue_nine(device, w->all->ids[w->number]) != TSR_OK)
        fail("tsr_generate");
    tsr_device_close(&device);
    if (!w->all->engine)
        tsr_engine_destroy(&engine);
    return NULL;
}

static void together(shared *all) {
    pthread_t threads[THREADS];
    worker workers[THREADS];
    pthread_barrier_init(&all->begin, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.all = all, .number = i};
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&all->begin);
    for (int i = 0; i < THREADS; i++)
        if (memcmp(all->ids[i], all->ids[0], sizeof all->ids[0]) || !all->ids[0][0]) {
            fprintf(stderr, "thread %d gives other tokens\n", i);
            atomic_fetch_add(&failures, 1);
        }
}

static int raced;

static void *race(void *given) {
    for (int i = 0; i < 1000; i++)
        raced++;
    return given;
}

int main(int argc, char **argv) {
    shared own = {.selector = argc > 1 ? argv[1] : "reference"}, one = own;
    if (!strcmp(own.selector, "race")) {
        pthread_t threads[2];
        for (int i = 0; i < 2; i++)
            pthread_create(&threads[i], NULL, race, NULL);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
        return 0;
    }
    together(&own);
    if (tsr_engine_create(NULL, &one.engine) != TSR_OK)
        fail("tsr_engine_create");
    else
        together(&one);
    tsr_engine_destroy(&one.engine);
    return atomic_load(&failures) != 0;
}
