/* bench/binding/calls.c - the calls of the C interface that the Python package makes for an embedding and
 * for tokens, made here from C; for bench/binding.py, which loads this. */
#include "tessera/embed.h"
#include "tessera/generate.h"
#include "tessera/session.h"

#include <time.h>

__attribute__((visibility("default"))) double bench_embed(tsr_embedder *embedder, const char *text,
                                                          size_t bytes, float *vector, int times);
__attribute__((visibility("default"))) double bench_step(tsr_session *session, int64_t length,
                                                         int32_t id, float *logits, int times);
__attribute__((visibility("default"))) double bench_generate(tsr_model *model, int32_t id,
                                                             int32_t *ids, int times);

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds for `times` embeddings of a text; below 0: a call failed. */
double bench_embed(tsr_embedder *embedder, const char *text, size_t bytes, float *vector,
                   int times) {
    const tsr_string one = {.data = text, .size = bytes};
    const double begun = now();
    for (int i = 0; i < times; i++)
        if (tsr_embed(embedder, &one, 1, vector, NULL) != TSR_OK)
            return -1;
    return now() - begun;
}

/* Seconds for `times` tokens behind `length` others of sequence 0; below 0: a call failed. */
double bench_step(tsr_session *session, int64_t length, int32_t id, float *logits, int times) {
    if (tsr_session_rewind(session, 0, length) != TSR_OK)
        return -1;
    const double begun = now();
    for (int i = 0; i < times; i++)
        if (tsr_session_step(session, &id, 1, logits, NULL) != TSR_OK)
            return -1;
    return now() - begun;
}

static int keep_id(void *ids, const tsr_generated *generated) {
    int32_t **next = ids;
    *(*next)++ = generated->id;
    return 0;
}

/* Seconds for the likeliest `times` tokens after a prompt of one token; below 0: the call failed. Sets
 * ids [times], and may set one behind them to -1. */
double bench_generate(tsr_model *model, int32_t id, int32_t *ids, int times) {
    tsr_generate_options options = {.struct_size = sizeof options};
    const tsr_prompt prompt = {.struct_size = sizeof prompt, .ids = &id, .n_ids = 1};
    const tsr_prompt *const prompts[] = {&prompt};
    const double begun = now();
    if (tsr_generate_defaults(model, &options) != TSR_OK)
        return -1;
    options.temperature = 0;
    options.ignore_eos = 1;
    options.max_new_tokens = times;
    if (tsr_generate(model, prompts, 1, &options, keep_id, &ids, NULL) != TSR_OK)
        return -1;
    return now() - begun;
}
