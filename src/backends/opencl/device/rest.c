/* backends/opencl/device/rest.c - clFinish in a thread of its own, because it has no time limit. */
#include "backends/opencl/device/rest.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/system/system.h"

#include <stdlib.h>

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

static waiting *prepare(cl_command_queue queue) {
    waiting *w = NULL;
    if (tsri_base_new(1, sizeof *w, &w) != TSR_OK)
        return NULL;
    w->queue = queue;
    pthread_mutex_init(&w->lock, NULL);
    (void)tsri_system_condition(&w->ended);
    return w;
}

tsri_opencl_rest tsri_opencl_finish_within(cl_command_queue queue, uint64_t limit_ns) {
    const uint64_t end = tsri_base_now_ns() + limit_ns;
    waiting *w = prepare(queue);
    pthread_t thread;
    bool over;
    if (!w || tsri_system_thread(&thread, finish, w) !=
                  0) { /* no thread could be started: wait here, without a limit */
        if (w)
            forget(w);
        return clFinish(queue) == CL_SUCCESS ? TSRI_OPENCL_RESTS : TSRI_OPENCL_UNKNOWN;
    }
    pthread_mutex_lock(&w->lock);
    while (!w->over && tsri_system_wait_until(&w->ended, &w->lock, end))
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
