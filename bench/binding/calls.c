/* bench/binding/calls.c - the calls of the C interface that the Python package makes for an embedding and
 * for a token, made here from C; for bench/binding.py, which loads this. */
#include "tessera/embed.h"
#include "tessera/session.h"

#include <time.h>

__attribute__((visibility("default"))) double bench_embed(tsr_embedder *embedder, const char *text,
                                                          size_t bytes, float *vector, int times);
__attribute__((visibility("default"))) double bench_step(tsr_session *session, int64_t length,
                                                         int32_t id, float *logits, int times);

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
