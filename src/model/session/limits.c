/* model/session/limits.c - what a session accepts: checks of tokens, and how much room its
 * key/value memory has and grows to. */
#include "base/error.h"
#include "model/session/chunk.h"

#include <inttypes.h>

enum { STEP = 32 }; /* capacities are multiples of it, except the context itself */

tsr_status tsri_session_reserve(tsri_session *session, int64_t tokens) {
    const int64_t had = session->plans.capacity;
    if (tokens > session->context)
        return tsri_base_fail(
            TSR_E_ARGUMENT,
            "%" PRId64 " tokens do not fit into the context of %" PRId64
            "; shorten the text, or ask for a larger context (-c) if the model supports one",
            tokens, session->context);
    if (tokens <= had)
        return TSR_OK;
    int64_t capacity = tsri_model_capacity_for(tokens, had, session->context);
    if (session->plans.pages) /* nothing but the table of a sequence's pages grows */
        capacity = (capacity + TSRI_MODEL_PAGE - 1) / TSRI_MODEL_PAGE * TSRI_MODEL_PAGE;
    tsri_model_plans_grow(&session->plans, capacity, session->plans.source_capacity);
    return TSR_OK;
}

int64_t tsri_model_capacity_for(int64_t tokens, int64_t had, int64_t most) {
    const int64_t half_more = had + had / 2, least = tokens > half_more ? tokens : half_more,
                  capacity = (least + STEP - 1) / STEP * STEP;
    return capacity < most ? capacity : most;
}

tsr_status tsri_model_check_token(int32_t sequence, int64_t token, int32_t id, int64_t position,
                                  int32_t vocab, int64_t context) {
    if (id < 0 || id >= vocab)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "sequence %" PRId32 ": token %" PRId64 " is %" PRId32
                              "; the vocabulary has ids from 0 to %" PRId32,
                              sequence, token, id, vocab - 1);
    if (position < 0 || position >= context)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "sequence %" PRId32 ": token %" PRId64 " is at position %" PRId64
                              "; the model reads positions up to %" PRId64,
                              sequence, token, position, context - 1);
    return TSR_OK;
}

tsr_status tsri_model_check_top_k(const tsri_model *model, int32_t top_k) {
    if (top_k < 0 || top_k > model->spec.vocab)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "the %" PRId32
                              " likeliest tokens were asked for; the vocabulary has %" PRId32,
                              top_k, model->spec.vocab);
    return TSR_OK;
}

void tsri_model_reserve_sources(tsri_session *session, int64_t tokens) {
    tsri_model_plans *plans = &session->plans;
    if (session->encoded && tokens > plans->source_capacity)
        tsri_model_plans_grow(
            plans, plans->capacity,
            tsri_model_capacity_for(tokens, plans->source_capacity, session->source_context));
}
