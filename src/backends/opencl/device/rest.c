/* backends/opencl/device/rest.c - clFinish in a thread of its own, because it has no time limit. */
#include "backends/opencl/device/rest.h"
#include "base/error.h"
#include "base/memory.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

typedef struct waiting {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    cl_command_queue queue;
    cl_int code;
    bool over, left; /* clFinish has returned; nobody waits for it any more */
} waiting;

static void forget(waiting *w) {
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->ended);
    free(w);
}

static void *finish(void *given) {
    waiting *w = given;
    const cl_int code = clFinish(w->queue);
    pthread_mutex_lock(&w->lock);
    w->code = code;
    w->over = true;
    const bool left = w->left;
    pthread_cond_signal(&w->ended);
    pthread_mutex_unlock(&w->lock);
    if (left)
        forget(w);
    return NULL;
}

/* The thread blocks the program's signals. */
static bool start(waiting *w, pthread_t *thread) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = pthread_create(thread, NULL, finish, w) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

static waiting *prepare(cl_command_queue queue) {
    waiting *w = NULL;
    pthread_condattr_t attributes;
    if (tsri_base_new(1, sizeof *w, &w) != TSR_OK)
        return NULL;
    w->queue = queue;
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&w->ended, &attributes);
    pthread_condattr_destroy(&attributes);
    return w;
}

static struct timespec after(uint64_t ns) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    ns += (uint64_t)at.tv_nsec;
    at.tv_sec += (time_t)(ns / 1000000000);
    at.tv_nsec = (long)(ns % 1000000000);
    return at;
}

tsri_opencl_rest tsri_opencl_finish_within(cl_command_queue queue, uint64_t limit_ns) {
    const struct timespec end = after(limit_ns);
    waiting *w = prepare(queue);
    pthread_t thread;
    bool over;
    if (!w || !start(w, &thread)) { /* no thread could be started: wait here, without a limit */
        if (w)
            forget(w);
        return clFinish(queue) == CL_SUCCESS ? TSRI_OPENCL_RESTS : TSRI_OPENCL_UNKNOWN;
    }
    pthread_mutex_lock(&w->lock);
    while (!w->over && pthread_cond_timedwait(&w->ended, &w->lock, &end) == 0)
        continue;
    over = w->over;
    w->left = !over;
    pthread_mutex_unlock(&w->lock);
    if (!over) {
        pthread_detach(thread);
        return TSRI_OPENCL_STUCK;
    }
    pthread_join(thread, NULL);
    const cl_int code = w->code;
    forget(w);
    return code == CL_SUCCESS ? TSRI_OPENCL_RESTS : TSRI_OPENCL_UNKNOWN;
}
