/* task/generate/scheduler_requests.c - requests of a scheduler: what they are made of, and the events that they
 * give. */
#include "task/generate/scheduler_parts.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "model/model.h"
#include "task/generate/settings.h"
#include "task/generate/template.h"

#include <inttypes.h>
#include <stdlib.h>

void tsri_task_request_free(tsri_task_request *r) {
    free(r->pages.pages.ids); /* the pages themselves belong to the scheduler */
    tsri_task_own_options_clear(&r->own);
    free(r->ends);
    tsri_task_sequence_clear(&r->sequence);
    tsri_task_token_rules_clear(&r->rules);
    tsri_task_scoring_clear(&r->scoring);
    free(r);
}

static int on_token(void *data, const tsr_generated *generated);
static int on_prompt_token(void *data, const tsr_generated *generated);

static tsr_status check_ends(const tsri_model *m, const tsr_request *given) {
    for (uint32_t i = 0; i < given->n_ends; i++)
        if (given->ends[i] < 0 || given->ends[i] >= m->spec.vocab)
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "token id %d is to end the answer, but the model's vocabulary "
                                  "has the ids 0 to %d",
                                  (int)given->ends[i], (int)m->spec.vocab - 1);
    return TSR_OK;
}

/* Encodes the prompt, and finds the tokens that end the answer. */
static tsr_status take_prompt(tsri_task_request *r, const tsr_request *given,
                              const tsr_chat_options *chat) {
    tsri_task_template *template = NULL;
    const tsri_model *m = r->scheduler->model;
    tsr_prompt prompt;
    TRY(tsri_base_adopt("tsr_prompt", given->prompt, &prompt, sizeof prompt));
    const size_t room = (size_t)given->n_ends + TSRI_TASK_TEMPLATE_ENDS;
    TRY(tsri_base_new(room, sizeof *r->ends, &r->ends));
    for (uint32_t i = 0; i < given->n_ends; i++)
        r->ends[i] = given->ends[i];
    if (chat || prompt.messages)
        TRY(tsri_task_template_create(m, chat, &template));
    const tsr_status status =
        tsri_task_prompt_ids(&r->decoding, template, given->prompt, &r->sequence.ids);
    uint32_t n = 0;
    const int32_t *ends = template ? tsri_task_template_ends(template, &n) : NULL;
    for (uint32_t i = 0; i < n; i++)
        r->ends[given->n_ends + i] = ends[i];
    r->decoding.ends = r->ends;
    r->decoding.n_ends = given->n_ends + n;
    tsri_task_template_destroy(&template);
    r->prompt_tokens = (uint32_t)r->sequence.ids.count;
    return status;
}

static tsr_status begin_scoring(tsri_task_request *r) {
    const tsri_model *m = r->scheduler->model;
    if (m->spec.decoder.rope.scaling == TSRI_SCALING_DYNAMIC)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: log-probabilities of a prompt are not given, because its "
                              "positions depend on the length of a run (dynamic scaling)",
                              m->path);
    r->member.scoring = &r->scoring;
    return tsri_task_scoring_begin(m, &r->own.options, on_prompt_token, &r->scoring);
}

tsr_status tsri_task_request_fill(tsr_scheduler *s, const tsr_request *given,
                                  tsri_task_request *r) {
    tsr_generate_options known;
    TRY(tsri_task_adopt_search(s->model, given->options, &known));
    TRY(tsri_task_options_check(&known, s->model));
    if (known.num_beams > 1)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "num_beams is %u; requests that share a model are not searched: give "
                              "1, or use tsr_generate",
                              known.num_beams);
    TRY(check_ends(s->model, given));
    TRY(tsri_task_own_options_copy(&known, &r->own));
    r->scheduler = s;
    r->data = given->data;
    r->decoding = (tsri_task_decoding){.model = s->model,
                                       .session = s->session,
                                       .options = &r->own.options,
                                       .context = tsri_session_context(s->session),
                                       .generated = on_token,
                                       .data = r};
    if (known.context && known.context < r->decoding.context)
        r->decoding.context = known.context;
    TRY(take_prompt(r, given, known.chat));
    if ((int64_t)r->prompt_tokens > s->context)
        return tsri_base_fail(
            TSR_E_ARGUMENT,
            "a prompt of %u tokens was given; the memory for keys and values holds "
            "%" PRId64 " tokens (--kv-tokens)",
            r->prompt_tokens, s->context);
    if (r->decoding.context > s->context)
        r->decoding.context = s->context;
    TRY(tsri_task_sequence_begin(&r->sequence, s->model, &r->own.options));
    TRY(tsri_task_token_rules_create(s->model, &r->own.options, r->ends, r->decoding.n_ends,
                                     &r->rules));
    r->member =
        (tsri_task_member){.decoding = &r->decoding, .sequence = &r->sequence, .rules = &r->rules};
    return given->prompt_logprobs ? begin_scoring(r) : TSR_OK;
}

int tsri_task_request_tell(tsri_task_request *r, tsr_status status, const tsr_generated *generated,
                           bool of_prompt) {
    tsr_scheduler *s = r->scheduler;
    s->counts.finished += generated && generated->finish;
    s->counts.failed += status != TSR_OK;
    const tsr_scheduler_event event = {.struct_size = sizeof event,
                                       .status = status,
                                       .request = r->id,
                                       .data = r->data,
                                       .generated = generated,
                                       .error = status == TSR_OK ? "" : tsr_error_last(),
                                       .prompt_tokens = r->prompt_tokens,
                                       .cached_tokens = r->cached_tokens,
                                       .of_prompt = of_prompt};
    return s->event ? s->event(s->data, &event) : 0;
}

static int on_token(void *data, const tsr_generated *generated) {
    tsri_task_request *r = data;
    r->scheduler->counts.new_tokens += generated->id >= 0;
    return tsri_task_request_tell(r, TSR_OK, generated, false);
}

static int on_prompt_token(void *data, const tsr_generated *generated) {
    return tsri_task_request_tell(data, TSR_OK, generated, true);
}

tsr_status tsri_task_request_failed(void *data, tsri_task_member *member) {
    (void)data;
    if (member->status != TSR_E_CANCELLED)
        (void)tsri_task_request_tell(member->decoding->data, member->status, NULL, false);
    return TSR_OK;
}
