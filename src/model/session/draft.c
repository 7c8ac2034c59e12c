/* model/session/draft.c - whether sequences may be given tokens that are only guessed. */
#include "base/error.h"
#include "model/session/chunk.h"

static void note_alike(void *data, const tsr_variant *variant) {
    if (variant->chosen && variant->batch_variant)
        *(bool *)data = false;
}

/* Whether all kernels of the last run's plan give a row the bytes that it has alone. */
static tsr_status find_alike(const tsri_session *session, const tsri_run_plan *plan) {
    bool alike = true;
    for (size_t i = 0; i < tsri_run_step_count(plan); i++)
        TRY(tsri_run_step_variants(plan, i, note_alike, &alike));
    session->model->rows_alike = alike ? 1 : -1;
    return TSR_OK;
}

tsr_status tsri_session_can_draft(tsri_session *session, bool *can, bool *gains) {
    const tsri_model_stack *decoder = &session->model->spec.decoder;
    const tsri_run_context *run = session->model->run;
    *can = !decoder->recurrent && decoder->rope.scaling != TSRI_SCALING_DYNAMIC &&
           tsri_run_rank_count(run) == 1;
    *gains = !decoder->experts && !decoder->cross;
    for (size_t i = 0; i < tsri_run_device_count(run); i++)
        *gains &= tsri_run_device_type(run, i) != TSR_DEVICE_OTHER;
    if (*can && !session->model->rows_alike && session->plans.last)
        TRY(find_alike(session, session->plans.last));
    *can &= session->model->rows_alike > 0;
    return TSR_OK;
}
