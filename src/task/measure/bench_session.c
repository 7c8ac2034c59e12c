/* task/measure/bench_session.c - times runs of a batch of sequences of equal length. */
#include "tessera/bench.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "model/model.h"

#include <stdlib.h>

struct tsr_bench_session {
    tsri_session *session;
    tsri_model_sequence *sequences;
    int32_t *next;
    uint32_t batch;
};

tsr_status tsr_bench_session_create(tsr_model *model, uint32_t batch, int64_t context,
                                    tsr_bench_session **out) {
    TRY(NEED(model));
    TRY(NEED(out));
    tsr_bench_session *s = NULL;
    *out = NULL;
    if (!batch || batch > INT32_MAX)
        return tsri_base_fail(TSR_E_ARGUMENT, "a batch of %u sequences; it must have at least one",
                              batch);
    TRY(tsri_base_new(1, sizeof *s, &s));
    s->batch = batch;
    tsr_status status =
        tsri_session_create(tsri_model_of(model), (int32_t)batch, context, &s->session);
    if (status == TSR_OK)
        status = tsri_session_reserve(s->session, tsri_session_context(s->session));
    if (status == TSR_OK)
        status = tsri_base_new(batch, sizeof *s->sequences, &s->sequences);
    if (status == TSR_OK)
        status = tsri_base_new(batch, sizeof *s->next, &s->next);
    if (status != TSR_OK)
        tsr_bench_session_destroy(&s);
    *out = s;
    return status;
}

void tsr_bench_session_destroy(tsr_bench_session **session) {
    tsr_bench_session *s = *session;
    if (!s)
        return;
    tsri_session_destroy(&s->session);
    free(s->sequences);
    free(s->next);
    free(s);
    *session = NULL;
}

tsr_status tsr_bench_session_run(tsr_bench_session *s, const int32_t *ids, int64_t n, int64_t past,
                                 float *logits, int32_t *next, uint64_t *ns) {
    TRY(NEED(s));
    TRY(NEED(ids));
    const tsri_model_results results = {
        .rows = TSRI_ROWS_LAST, .argmax = next ? next : s->next, .logits = logits};
    for (uint32_t b = 0; b < s->batch; b++)
        s->sequences[b] =
            (tsri_model_sequence){.ids = ids + b * n, .n = n, .past = past, .slot = (int32_t)b};
    const uint64_t begun = tsri_base_now_ns();
    TRY(tsri_session_forward(s->session, s->sequences, (int32_t)s->batch, &results));
    if (ns)
        *ns = tsri_base_now_ns() - begun;
    return TSR_OK;
}
