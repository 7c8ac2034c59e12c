/* task/bench/runs/arrivals.c - requests arrive by a Poisson process, whether or not earlier ones are
 * done. A request's time counts from its arrival, also where the scheduler is in a step then. */
#include "task/bench/runs/arrivals.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "tessera/scheduler.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

/* Seconds since the run began. */
typedef struct request {
    double due, first, last;
    int64_t tokens;
} request;

struct tsri_task_arrivals {
    tsri_task_arrivals_options options;
    tsr_scheduler *scheduler;
    int32_t *ids; /* [requests, prompt] */
    double *due;
    request *requests;
    uint64_t begun;
    uint32_t ended;
    tsr_status failed;
};

static double now(const tsri_task_arrivals *a) {
    return (double)(tsri_base_now_ns() - a->begun) * 1e-9;
}

void tsri_task_arrivals_draw(uint64_t seed, double rate, uint32_t n, double *due) {
    double at = 0;
    for (uint32_t i = 0; i < n; i++)
        due[i] = at -= log1p(-tsri_base_uniform(seed, 0, i));
    const double scale = at > 0 ? n / rate / at : 0;
    for (uint32_t i = 0; i < n; i++)
        due[i] *= scale;
}

tsr_status tsri_task_arrivals_create(tsr_model *model, const tsri_task_arrivals_options *options,
                                     tsri_task_arrivals **out) {
    const size_t n = options->requests, ids = n * (size_t)options->prompt;
    /* Of each slot, in whole pages of 32: no request is put back. */
    const int64_t whole = (options->prompt + options->tokens + 31) / 32 * 32;
    const tsr_scheduler_options room = {.struct_size = sizeof room,
                                        .slots = options->slots,
                                        .context = options->prompt + options->tokens,
                                        .no_reuse = 1,
                                        .kv_tokens = whole * (int64_t)options->slots};
    tsr_model_info info = {.struct_size = sizeof info};
    tsri_task_arrivals *a = NULL;
    TRY(tsr_model_info_get(model, &info));
    TRY(tsri_base_new(1, sizeof *a, &a));
    a->options = *options;
    tsr_status status = tsri_base_new(ids, sizeof *a->ids, &a->ids);
    if (status == TSR_OK)
        status = tsri_base_new(n, sizeof *a->due, &a->due);
    if (status == TSR_OK)
        status = tsri_base_new(n, sizeof *a->requests, &a->requests);
    if (status == TSR_OK)
        status = tsr_scheduler_create(model, &room, &a->scheduler);
    if (status != TSR_OK) {
        tsri_task_arrivals_destroy(&a);
        return status;
    }
    for (size_t i = 0; i < ids; i++)
        a->ids[i] = (int32_t)(tsri_base_uniform(1, 1, i) * (double)info.vocab);
    *out = a;
    return TSR_OK;
}

void tsri_task_arrivals_destroy(tsri_task_arrivals **arrivals) {
    tsri_task_arrivals *a = *arrivals;
    if (!a)
        return;
    tsr_scheduler_destroy(&a->scheduler);
    free(a->ids);
    free(a->due);
    free(a->requests);
    free(a);
    *arrivals = NULL;
}

static int happened(void *data, const tsr_scheduler_event *event) {
    tsri_task_arrivals *a = data;
    request *r = event->data;
    if (!event->generated) {
        a->failed = tsri_base_fail((tsr_status)event->status, "a request failed: %s", event->error);
        return 1;
    }
    if (event->generated->id >= 0) {
        r->last = now(a);
        r->first = r->tokens++ ? r->first : r->last;
    }
    a->ended += event->generated->finish != TSR_FINISH_NONE;
    return 0;
}

static tsr_status add(tsri_task_arrivals *a, uint32_t i) {
    const tsri_task_arrivals_options *o = &a->options;
    const tsr_prompt prompt = {
        .struct_size = sizeof prompt, .n_ids = (uint32_t)o->prompt, .ids = a->ids + i * o->prompt};
    const tsr_generate_options greedy = {.struct_size = sizeof greedy,
                                         .speculate = -1,
                                         .ignore_eos = 1,
                                         .max_new_tokens = o->tokens,
                                         .top_p = 1,
                                         .repeat_penalty = 1};
    const tsr_request given = {.struct_size = sizeof given,
                               .prompt = &prompt,
                               .options = &greedy,
                               .data = &a->requests[i]};
    uint64_t id;
    a->requests[i] = (request){.due = a->due[i]};
    return tsr_scheduler_add(a->scheduler, &given, &id);
}

static void sleep_for(double seconds) {
    const struct timespec time = {.tv_sec = (time_t)seconds,
                                  .tv_nsec = (long)(fmod(seconds, 1) * 1e9)};
    if (seconds > 0)
        nanosleep(&time, NULL);
}

static tsr_status serve(tsri_task_arrivals *a) {
    const uint32_t n = a->options.requests;
    uint32_t added = 0;
    while (a->ended < n) {
        for (const double t = now(a); added < n && a->due[added] <= t; added++)
            TRY(add(a, added));
        if (added == a->ended)
            sleep_for(a->due[added] - now(a));
        else
            TRY(tsr_scheduler_step(a->scheduler, happened, a));
        TRY(a->failed);
    }
    return TSR_OK;
}

tsr_status tsri_task_arrivals_run(tsri_task_arrivals *a, double rate, uint64_t seed, double *first,
                                  double *each, double *seconds) {
    const uint32_t n = a->options.requests;
    double last = 0;
    for (uint32_t i = 0; i < n; i++)
        a->due[i] = 0;
    if (rate > 0)
        tsri_task_arrivals_draw(seed, rate, n, a->due);
    a->ended = 0;
    a->failed = TSR_OK;
    a->begun = tsri_base_now_ns();
    TRY(serve(a));
    for (uint32_t i = 0; i < n; i++) {
        const request *r = &a->requests[i];
        if (r->tokens != a->options.tokens)
            return tsri_base_fail(TSR_E_INTERNAL, "a request of %lld tokens gave %lld",
                                  (long long)a->options.tokens, (long long)r->tokens);
        first[i] = r->first - r->due;
        each[i] = (r->last - r->first) / (double)(r->tokens - 1);
        last = fmax(last, r->last);
    }
    *seconds = last - a->due[0];
    return TSR_OK;
}
