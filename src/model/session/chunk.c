/* model/session/chunk.c - runs one chunk of a batch (a number of tokens of every sequence) and puts
 * its results where they belong. */
#include "model/session/chunk.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

enum {
    CHUNK = 512,            /* tokens of a sequence in one run */
    MOST_ROWS = 2048,       /* tokens of all sequences in one run */
    FEWEST_ROWS = 256,      /* the same, where ranks share the layers and there are as many */
    MOST_RESULTS = 16 << 20 /* elements of logits or probabilities in one run */
};

/* One run of a forward pass: the part of the batch that it takes. */
typedef struct chunk {
    const tsri_model_sequence *sequences;
    const tsri_model_results *results;
    int64_t done;    /* tokens of every sequence that earlier chunks have taken */
    int64_t T, B, N; /* sizes of this one */
    int64_t wanted;  /* rows that go to results; N is at least 1 */
    size_t n_outputs;
    bool staged; /* a result goes to the caller by way of staging */
} chunk;

int64_t tsri_model_chunk_limit(const tsri_session *session, const tsri_model_results *results,
                               bool alone) {
    const tsri_model_spec *spec = &session->model->spec;
    const int64_t sequences = alone ? 1 : session->slots;
    int64_t limit = spec->decoder.recurrent ? 1 : MOST_ROWS / sequences, row = 1;
    if (results->rows == TSRI_ROWS_ALL && results->logits)
        row = spec->vocab;
    if (results->attention && spec->decoder.heads * session->plans.capacity > row)
        row = spec->decoder.heads * session->plans.capacity;
    if (results->cross && spec->decoder.heads * session->plans.source_capacity > row)
        row = spec->decoder.heads * session->plans.source_capacity;
    if (limit > MOST_RESULTS / row / sequences)
        limit = MOST_RESULTS / row / sequences;
    return limit < 1 ? 1 : limit > CHUNK ? CHUNK : limit;
}

tsr_status tsri_model_reserve_draws(tsri_session *session, size_t rows) {
    size_t rate_room = session->draw_room, room = 4 * session->draw_room;
    TRY(tsri_base_grow(&session->draw_rate, &rate_room, rows, sizeof *session->draw_rate));
    TRY(tsri_base_grow(&session->draw, &room, 4 * rows, sizeof *session->draw));
    session->draw_room = rows > session->draw_room ? rows : session->draw_room;
    return TSR_OK;
}

static int64_t pages_of_sequence(const tsri_session *session) {
    return session->plans.capacity / TSRI_MODEL_PAGE;
}

static tsr_status make_room(tsri_session *session, const chunk *chunk, bool by_keys) {
    const size_t tokens = (size_t)(chunk->B * chunk->T);
    size_t positions_room = session->tokens_room;
    TRY(tsri_base_grow(&session->positions, &positions_room, tokens, sizeof *session->positions));
    TRY(tsri_base_grow(&session->ids, &session->tokens_room, tokens, sizeof *session->ids));
    TRY(tsri_base_grow(&session->rows, &session->rows_room, tokens, sizeof *session->rows));
    if (by_keys)
        TRY(tsri_base_grow(&session->keys, &session->keys_room,
                           (size_t)(chunk->B * session->plans.capacity), sizeof *session->keys));
    if (session->plans.pages)
        TRY(tsri_base_grow(&session->pages, &session->pages_room,
                           (size_t)(chunk->B * pages_of_sequence(session)),
                           sizeof *session->pages));
    if (chunk->results->draws && chunk->results->rows == TSRI_ROWS_ALL)
        TRY(tsri_model_reserve_draws(session, tokens));
    return tsri_base_grow(&session->destination, &session->destination_room, tokens,
                          sizeof *session->destination);
}

/* Chooses the sequences that still have tokens, and how many of each this chunk takes. */
static void choose_members(tsri_session *session, int32_t n, int64_t step, chunk *chunk) {
    chunk->B = chunk->T = 0;
    for (int32_t i = 0; i < n; i++) {
        const int64_t left = chunk->sequences[i].n - chunk->done, taken = left < step ? left : step;
        if (left <= 0)
            continue;
        session->member[chunk->B] = i;
        session->taken[chunk->B++] = taken;
        chunk->T = taken > chunk->T ? taken : chunk->T;
    }
}

/* Fills in the slot that holds each key of sequence b: what the sequence appends is in its own
 * slot. */
static void fill_keys(tsri_session *session, int64_t b, const tsri_model_sequence *sequence) {
    const int64_t capacity = session->plans.capacity;
    int32_t *keys = session->keys + b * capacity;
    const int64_t given = sequence->keys ? sequence->past : 0;
    if (given)
        memcpy(keys, sequence->keys, (size_t)given * sizeof *keys);
    for (int64_t s = given; s < capacity; s++)
        keys[s] = sequence->slot;
}

/* Fills in the pages of sequence b. Those that it does not have yet hold no key of this run. */
static void fill_pages(tsri_session *session, int64_t b, const tsri_model_pages *pages) {
    const int64_t most = pages_of_sequence(session), n = pages->n < most ? pages->n : most;
    int32_t *to = session->pages + b * most;
    memcpy(to, pages->ids, (size_t)n * sizeof *to);
    for (int64_t i = n; i < most; i++)
        to[i] = 0;
}

/* The row of the state before token `past` of a sequence, whose first `sequence->past` states may
 * be in other slots; for its first token, the row of its source's state, after all slots. */
static int32_t state_before(const tsri_session *session, const tsri_model_sequence *sequence,
                            int64_t past) {
    const int32_t slot = !past ? session->slots + sequence->source
                         : sequence->keys && past <= sequence->past ? sequence->keys[past - 1]
                                                                    : sequence->slot;
    return (int32_t)(slot * session->plans.capacity + (past ? past - 1 : 0));
}

/* Row `row` of the results is drawn like this. */
static void fill_draw(tsri_session *session, int64_t row, const tsri_tensor_draw *draw) {
    const int32_t settings[] = {draw->top_k, (int32_t)draw->top_p, (int32_t)draw->min_p,
                                (int32_t)draw->random};
    session->draw_rate[row] = draw->rate;
    memcpy(session->draw + row * 4, settings, sizeof settings);
}

static void fill_inputs(tsri_session *session, chunk *chunk, bool by_keys) {
    const tsri_tensor_draw *draws = chunk->results->draws;
    const bool all = chunk->results->rows == TSRI_ROWS_ALL;
    memset(session->ids, 0, (size_t)(chunk->B * chunk->T) * sizeof *session->ids);
    memset(session->positions, 0, (size_t)(chunk->B * chunk->T) * sizeof *session->positions);
    chunk->wanted = 0;
    int64_t offset = 0;
    int32_t next = 0;
    for (int64_t b = 0; b < chunk->B; b++) {
        const int32_t member = session->member[b];
        const tsri_model_sequence *sequence = &chunk->sequences[member];
        const int64_t taken = session->taken[b], past = sequence->past + chunk->done;
        for (; next < member; next++)
            offset += chunk->sequences[next].n;
        session->past[b] = (int32_t)past;
        session->len[b] = (int32_t)(past + taken);
        session->slot[b] = sequence->slot;
        session->source[b] = sequence->source;
        session->source_len[b] = session->encoded ? session->encoded[sequence->source] : 0;
        session->state[b] = state_before(session, sequence, past);
        if (by_keys)
            fill_keys(session, b, sequence);
        if (session->plans.pages)
            fill_pages(session, b, sequence->pages);
        for (int64_t t = 0; t < taken; t++) {
            session->ids[b * chunk->T + t] = sequence->ids[chunk->done + t];
            session->positions[b * chunk->T + t] =
                sequence->positions ? sequence->positions[chunk->done + t] : (int32_t)(past + t);
            const bool last = chunk->done + t + 1 == sequence->n;
            if (!all && !last)
                continue;
            session->destination[chunk->wanted] = all ? offset + chunk->done + t : member;
            if (draws)
                fill_draw(session, chunk->wanted, &draws[session->destination[chunk->wanted]]);
            session->rows[chunk->wanted++] = (int32_t)(b * chunk->T + t);
        }
    }
    chunk->N = chunk->wanted ? chunk->wanted : 1; /* the head always runs for at least one row,
                                                     even if nobody reads it */
    if (!chunk->wanted) {
        session->rows[0] = 0;
        fill_draw(session, 0, &(tsri_tensor_draw){0});
    }
}

/* Binds a result of `width` elements a row: straight to the caller where its rows are contiguous
 * there, otherwise by way of staging. */
static tsr_status bind_rows(tsri_session *session, chunk *chunk, tsri_model_output id, void *to,
                            int64_t width) {
    if (!to || !chunk->wanted)
        return TSR_OK;
    const size_t bytes = (size_t)(chunk->N * width) * sizeof(float);
    tsri_run_binding *binding = &session->outputs[chunk->n_outputs++];
    bool together = true;
    for (int64_t i = 1; i < chunk->N && together; i++)
        together = session->destination[i] == session->destination[0] + i;
    *binding = (tsri_run_binding){
        .id = id, .bytes = bytes, .data = (float *)to + session->destination[0] * width};
    if (together)
        return TSR_OK;
    chunk->staged = true;
    tsri_model_staging *stage = &session->per_row[id];
    TRY(tsri_base_grow(&stage->data, &stage->room, (size_t)(chunk->N * width), sizeof(float)));
    binding->data = stage->data;
    return TSR_OK;
}

static void scatter_rows(const tsri_session *session, const chunk *chunk, tsri_model_output id,
                         void *to, int64_t width) {
    for (size_t i = 0; to && i < chunk->n_outputs; i++)
        if (session->outputs[i].id == id && session->outputs[i].data == session->per_row[id].data)
            for (int64_t row = 0; row < chunk->N; row++)
                memcpy((float *)to + session->destination[row] * width,
                       session->per_row[id].data + row * width, (size_t)width * sizeof(float));
}

static tsr_status bind_tokens(tsri_session *session, chunk *chunk, uint32_t id,
                              tsri_model_staging *stage, int64_t width) {
    const size_t elements = (size_t)(chunk->B * chunk->T * width);
    chunk->staged = true;
    TRY(tsri_base_grow(&stage->data, &stage->room, elements, sizeof(float)));
    session->outputs[chunk->n_outputs++] =
        (tsri_run_binding){.id = id, .data = stage->data, .bytes = elements * sizeof(float)};
    return TSR_OK;
}

static tsr_status bind_outputs(tsri_session *session, chunk *chunk) {
    const tsri_model_results *results = chunk->results;
    const tsri_model_spec *spec = &session->model->spec;
    const int32_t layers = spec->decoder.layers,
                  attends = tsri_model_attention_layers(&spec->decoder);
    chunk->n_outputs = 0;
    chunk->staged = false;
    TRY(bind_rows(session, chunk, TSRI_OUTPUT_LOGITS, results->logits, spec->vocab));
    TRY(bind_rows(session, chunk, TSRI_OUTPUT_ARGMAX, results->argmax, 1));
    TRY(bind_rows(session, chunk, TSRI_OUTPUT_DRAWN, results->drawn, 1));
    if (results->top_k && !results->drawn) {
        TRY(bind_rows(session, chunk, TSRI_OUTPUT_TOP_LOGITS, results->top_logits, results->top_k));
        TRY(bind_rows(session, chunk, TSRI_OUTPUT_TOP_IDS, results->top_ids, results->top_k));
        TRY(bind_rows(session, chunk, TSRI_OUTPUT_TOP_LSE, results->top_lse, 1));
    }
    for (int32_t i = 0; results->hidden && i <= layers; i++)
        TRY(bind_tokens(session, chunk, TSRI_OUTPUT_HIDDEN + (uint32_t)i, &session->per_token[i],
                        tsri_model_stack_width(spec, &spec->decoder)));
    for (int32_t i = 0; results->attention && i < attends; i++)
        TRY(bind_tokens(session, chunk, TSRI_OUTPUT_ATTENTION + (uint32_t)i,
                        &session->per_token[layers + 1 + i],
                        spec->decoder.heads * session->plans.capacity));
    for (int32_t i = 0; results->cross && i < layers; i++)
        TRY(bind_tokens(session, chunk, TSRI_OUTPUT_CROSS + (uint32_t)i,
                        &session->per_token[2 * layers + 1 + i],
                        spec->decoder.heads * session->plans.source_capacity));
    return TSR_OK;
}

/* Copies [B,T,C] with padding to the caller's rows without padding. */
static void scatter_hidden(const tsri_session *session, const chunk *chunk, const float *from,
                           float *to) {
    const tsri_model_spec *spec = &session->model->spec;
    const int64_t C = tsri_model_stack_width(spec, &spec->decoder);
    int64_t offset = 0;
    int32_t next = 0;
    for (int64_t b = 0; b < chunk->B; b++) {
        for (; next < session->member[b]; next++)
            offset += chunk->sequences[next].n;
        memcpy(to + (offset + chunk->done) * C, from + b * chunk->T * C,
               (size_t)(session->taken[b] * C) * sizeof(float));
    }
}

/* Copies [B,H,T,capacity] to the caller's [H,n,S] for each sequence; S = past + n, or with `cross`
 * the length of its source. Keys after those of a chunk are masked: 0. */
static void scatter_attention(const tsri_session *session, const chunk *chunk, bool cross,
                              const float *from, float *to) {
    const int64_t H = session->model->spec.decoder.heads,
                  capacity = cross ? session->plans.source_capacity : session->plans.capacity;
    for (int32_t i = 0, b = 0; b < chunk->B; i++) {
        const tsri_model_sequence *sequence = &chunk->sequences[i];
        const int64_t S = cross ? session->encoded[sequence->source] : sequence->past + sequence->n;
        for (int64_t h = 0; i == session->member[b] && h < H; h++)
            for (int64_t t = 0; t < session->taken[b]; t++)
                memcpy(to + (h * sequence->n + chunk->done + t) * S,
                       from + ((b * H + h) * chunk->T + t) * capacity, (size_t)S * sizeof(float));
        to += H * sequence->n * S;
        b += i == session->member[b];
    }
}

static void scatter_outputs(const tsri_session *session, const chunk *chunk) {
    const tsri_model_results *results = chunk->results;
    const tsri_model_spec *spec = &session->model->spec;
    const int32_t layers = spec->decoder.layers,
                  attends = tsri_model_attention_layers(&spec->decoder);
    scatter_rows(session, chunk, TSRI_OUTPUT_LOGITS, results->logits, spec->vocab);
    scatter_rows(session, chunk, TSRI_OUTPUT_ARGMAX, results->argmax, 1);
    scatter_rows(session, chunk, TSRI_OUTPUT_TOP_LOGITS, results->top_logits, results->top_k);
    scatter_rows(session, chunk, TSRI_OUTPUT_TOP_IDS, results->top_ids, results->top_k);
    scatter_rows(session, chunk, TSRI_OUTPUT_TOP_LSE, results->top_lse, 1);
    scatter_rows(session, chunk, TSRI_OUTPUT_DRAWN, results->drawn, 1);
    for (int32_t i = 0; results->hidden && i <= layers; i++)
        scatter_hidden(session, chunk, session->per_token[i].data, results->hidden[i]);
    for (int32_t i = 0; results->attention && i < attends; i++)
        scatter_attention(session, chunk, false, session->per_token[layers + 1 + i].data,
                          results->attention[i]);
    for (int32_t i = 0; results->cross && i < layers; i++)
        scatter_attention(session, chunk, true, session->per_token[2 * layers + 1 + i].data,
                          results->cross[i]);
}

/* Binds the inputs of a run of B sequences of T tokens and N rows; gives their number. The ids come
 * first. */
static size_t bind_inputs(tsri_session *session, int64_t B, int64_t T, int64_t N, bool by_keys,
                          bool draws, tsri_run_binding inputs[TSRI_INPUT_COUNT]) {
    const tsri_model_stack *stack = &session->model->spec.decoder;
    const size_t tokens = (size_t)(B * T) * sizeof(int32_t),
                 sequences = (size_t)B * sizeof(int32_t);
    size_t n = 0;
    inputs[n++] = (tsri_run_binding){.id = stack->recurrent ? TSRI_INPUT_TOKEN : TSRI_INPUT_IDS,
                                     .data = session->ids,
                                     .bytes = tokens};
    inputs[n++] =
        (tsri_run_binding){.id = TSRI_INPUT_PAST, .data = session->past, .bytes = sequences};
    inputs[n++] =
        (tsri_run_binding){.id = TSRI_INPUT_LEN, .data = session->len, .bytes = sequences};
    if (session->plans.pages)
        inputs[n++] = (tsri_run_binding){.id = TSRI_INPUT_PAGES,
                                         .data = session->pages,
                                         .bytes = sequences * (size_t)pages_of_sequence(session)};
    else
        inputs[n++] =
            (tsri_run_binding){.id = TSRI_INPUT_SLOT, .data = session->slot, .bytes = sequences};
    inputs[n++] = (tsri_run_binding){
        .id = TSRI_INPUT_ROWS, .data = session->rows, .bytes = (size_t)N * sizeof(int32_t)};
    if (draws) {
        inputs[n++] = (tsri_run_binding){.id = TSRI_INPUT_DRAW_RATE,
                                         .data = session->draw_rate,
                                         .bytes = (size_t)N * sizeof(float)};
        inputs[n++] = (tsri_run_binding){
            .id = TSRI_INPUT_DRAW, .data = session->draw, .bytes = (size_t)N * 4 * sizeof(int32_t)};
    }
    if (stack->positions != TSRI_POSITIONS_NONE)
        inputs[n++] = (tsri_run_binding){
            .id = TSRI_INPUT_POSITIONS, .data = session->positions, .bytes = tokens};
    if (stack->positions == TSRI_POSITIONS_ROTARY && tsri_model_rope_is_given(&stack->rope))
        inputs[n++] = (tsri_run_binding){.id = TSRI_INPUT_FREQUENCIES,
                                         .data = session->frequencies,
                                         .bytes = (size_t)stack->rope.rotary / 2 * sizeof(float)};
    if (by_keys)
        inputs[n++] = (tsri_run_binding){.id = TSRI_INPUT_KEYS,
                                         .data = session->keys,
                                         .bytes = sequences * (size_t)session->plans.capacity};
    if (stack->recurrent)
        inputs[n++] =
            (tsri_run_binding){.id = TSRI_INPUT_STATE, .data = session->state, .bytes = sequences};
    if (stack->cross) {
        inputs[n++] = (tsri_run_binding){
            .id = TSRI_INPUT_SOURCE, .data = session->source, .bytes = sequences};
        inputs[n++] = (tsri_run_binding){
            .id = TSRI_INPUT_SOURCE_LEN, .data = session->source_len, .bytes = sequences};
    }
    return n;
}

/* A run of this process alone. What its caller does meanwhile can't fail it. */
static tsr_status run_alone(tsri_session *session, tsri_run_plan *plan, const chunk *chunk,
                            const int64_t sizes[TSR_SYMBOLS], const tsri_run_binding *inputs,
                            size_t n) {
    const tsri_model_results *results = chunk->results;
    tsri_run_reads reads;
    if (!results->meanwhile || !chunk->n_outputs)
        return tsri_run_execute(plan, sizes, inputs, n, session->outputs, chunk->n_outputs);
    TRY(tsri_run_start(plan, sizes, inputs, n, session->outputs, chunk->n_outputs, &reads));
    results->meanwhile(results->meanwhile_data);
    return tsri_run_finish(&reads);
}

static tsr_status run_chunk(tsri_session *session, tsri_run_plan *plan, const chunk *chunk,
                            bool by_keys) {
    const int64_t sizes[TSR_SYMBOLS] = {chunk->B, chunk->T, 1, 1, chunk->N};
    tsri_run_binding inputs[TSRI_INPUT_COUNT];
    tsri_model_pass *pass;
    const size_t n =
        bind_inputs(session, chunk->B, chunk->T, chunk->N, by_keys, chunk->results->draws, inputs);
    if (!tsri_model_is_shared(session))
        return run_alone(session, plan, chunk, sizes, inputs, n);
    TRY(tsri_model_pass_room(session, &pass));
    TRY(tsri_run_start(plan, sizes, inputs, n, session->outputs, chunk->n_outputs, &pass->reads));
    tsri_model_pass_begun(session);
    if (chunk->results->meanwhile && chunk->n_outputs)
        chunk->results->meanwhile(chunk->results->meanwhile_data);
    return chunk->staged ? tsri_session_end(session, session->n_begun) : TSR_OK;
}

/* Notes a run that gave the argmax of one token for each sequence, or drew it, and nothing else. */
static void note_followed(tsri_session *session, tsri_run_plan *plan, const chunk *chunk,
                          const tsri_model_shape *shape) {
    const tsri_model_stack *stack = &session->model->spec.decoder;
    const tsri_model_results *results = chunk->results;
    bool alone =
        (results->argmax || results->drawn) && chunk->n_outputs == 1 && !shape->by_keys &&
        !stack->recurrent &&
        !(stack->positions == TSRI_POSITIONS_ROTARY && stack->rope.scaling == TSRI_SCALING_DYNAMIC);
    for (int64_t b = 0; b < chunk->B && alone; b++) {
        const tsri_model_sequence *sequence = &chunk->sequences[session->member[b]];
        alone = sequence->n == 1 && !sequence->positions;
        session->followed_pages[b] = sequence->pages;
    }
    session->plans.followed = alone ? plan : NULL;
    session->followers = chunk->B;
    session->drew = results->drawn;
}

/* The tokens that sequence b of the last run has room for. */
static int64_t room_of(const tsri_session *session, int64_t b) {
    const int64_t most =
        session->plans.capacity < session->context ? session->plans.capacity : session->context;
    if (!session->plans.pages)
        return most;
    const int64_t has = (int64_t)session->followed_pages[b]->n * TSRI_MODEL_PAGE;
    return has < most ? has : most;
}

tsr_status tsri_session_follow(tsri_session *session, const tsri_tensor_draw *draws, int32_t *ids,
                               bool *started) {
    tsri_run_plan *plan = session->plans.followed;
    const int64_t B = session->followers;
    const int64_t sizes[TSR_SYMBOLS] = {B, 1, 1, 1, B};
    const tsri_model_output found = draws ? TSRI_OUTPUT_DRAWN : TSRI_OUTPUT_ARGMAX;
    tsri_run_binding inputs[TSRI_INPUT_COUNT];
    *started = false;
    if (!plan || session->drew != (draws != NULL) || session->n_ahead == TSRI_SESSION_AHEAD ||
        !tsri_run_feeds(plan, found, TSRI_INPUT_IDS))
        return TSR_OK;
    for (int64_t b = 0; b < B; b++)
        if (session->len[b] >= room_of(session, b))
            return TSR_OK;
    for (int64_t b = 0; b < B && session->plans.pages; b++)
        fill_pages(session, b, session->followed_pages[b]);
    for (int64_t b = 0; b < B; b++)
        session->past[b]++, session->len[b]++, session->positions[b]++;
    for (int64_t b = 0; draws && b < B; b++)
        fill_draw(session, b, &draws[b]);
    const size_t n = bind_inputs(session, B, 1, B, false, draws, inputs);
    const tsri_run_binding output = {.id = found, .data = ids, .bytes = (size_t)B * sizeof *ids};
    inputs[0].data = NULL;
    inputs[0].from = plan;
    inputs[0].output = found;
    TRY(tsri_run_start(plan, sizes, inputs, n, &output, 1, &session->ahead[session->n_ahead]));
    session->n_ahead++;
    *started = true;
    return TSR_OK;
}

int64_t tsri_model_chunk_step(const tsri_session *session, int64_t n, int64_t limit,
                              int64_t longest) {
    const int64_t parts = 2 * (int64_t)tsri_run_rank_count(session->model->run);
    int64_t step = limit;
    while (tsri_model_is_shared(session) && n * step >= 2 * FEWEST_ROWS && step > longest / parts)
        step /= 2;
    return step;
}

tsr_status tsri_model_chunk_run(tsri_session *session, const tsri_model_sequence *sequences,
                                int32_t n, const tsri_model_results *results,
                                const tsri_model_shape *shape, int64_t done, int64_t step,
                                int64_t limit) {
    chunk chunk = {.sequences = sequences, .results = results, .done = done};
    tsri_run_plan *plan = NULL;
    choose_members(session, n, step, &chunk);
    TRY(make_room(session, &chunk, shape->by_keys));
    fill_inputs(session, &chunk, shape->by_keys);
    TRY(bind_outputs(session, &chunk));
    TRY(tsri_model_plans_plan(&session->plans, shape, chunk.B, chunk.T, limit,
                              results->rows == TSRI_ROWS_ALL, &plan));
    TRY(run_chunk(session, plan, &chunk, shape->by_keys));
    note_followed(session, plan, &chunk, shape);
    if (chunk.staged)
        scatter_outputs(session, &chunk);
    return TSR_OK;
}
