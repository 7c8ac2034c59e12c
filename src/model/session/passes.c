/* model/session/passes.c - passes that are under way where ranks share the layers: while this rank waits
 * for the results of one, it works on another. All ranks begin and end them in the same order. */
#include "model/session/chunk.h"

#include "base/error.h"

#include <string.h>

bool tsri_model_is_shared(const tsri_session *session) {
    return tsri_run_rank_count(session->model->run) > 1;
}

uint32_t tsri_model_groups(const tsri_model *model) {
    const uint32_t ranks = tsri_run_rank_count(model->run);
    return ranks < TSRI_MODEL_UNDER_WAY ? ranks : TSRI_MODEL_UNDER_WAY;
}

static tsri_model_pass take_oldest(tsri_session *session) {
    const tsri_model_pass oldest = session->under_way[0];
    session->n_under_way--;
    session->n_ended++;
    memmove(session->under_way, session->under_way + 1,
            (size_t)session->n_under_way * sizeof oldest);
    return oldest;
}

static tsr_status end_oldest(tsri_session *session) {
    tsri_model_pass oldest = take_oldest(session);
    TRY(tsri_run_finish(&oldest.reads));
    return oldest.ended ? oldest.ended(session, oldest.run) : TSR_OK;
}

tsr_status tsri_model_pass_room(tsri_session *session, tsri_model_pass **out) {
    if (session->n_under_way == TSRI_MODEL_UNDER_WAY)
        TRY(end_oldest(session));
    *out = &session->under_way[session->n_under_way];
    **out = (tsri_model_pass){.ended = NULL};
    return TSR_OK;
}

void tsri_model_pass_begun(tsri_session *session) {
    session->n_under_way++;
    session->n_begun++;
}

tsr_status tsri_model_pass_of(tsri_session *session, tsr_status status, uint64_t *pass) {
    *pass = session->n_begun;
    if (status != TSR_OK)
        tsri_session_give_up(session);
    return tsri_model_plans_settle(&session->plans, status);
}

tsr_status tsri_session_end(tsri_session *session, uint64_t pass) {
    tsr_status status = TSR_OK;
    while (session->n_under_way && session->n_ended < pass && status == TSR_OK)
        status = end_oldest(session);
    if (status != TSR_OK)
        tsri_session_give_up(session);
    return tsri_model_plans_settle(&session->plans, status);
}

/* The sentence of the failure that this may follow stays. */
void tsri_session_give_up(tsri_session *session) {
    const tsri_base_kept before = tsri_base_keep();
    while (session->n_under_way) {
        tsri_model_pass oldest = take_oldest(session);
        (void)!tsri_run_finish(&oldest.reads);
    }
    tsri_base_restore(TSR_OK, &before);
}
