/* model/bundle.c - exports a model's kernels for devices that can't compile (tessera/bundle.h), and
 * builds the kernels of such an exported folder. */
#include "tessera/bundle.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "model/model.h"

#include <stdlib.h>

/* The one device, and its backend's calls. */
static tsr_status bundles_of(const tsri_backend_opened_device *opened,
                             const tsri_backend_device **device, const tsr_backend_bundle **calls) {
    if (opened->n_devices != 1)
        return tsri_base_fail(TSR_E_UNSUPPORTED, "a bundle is for one device; %zu are open",
                              opened->n_devices);
    *device = opened->devices[0];
    *calls = tsri_backend_extension(opened->set, (*device)->entry, "tsr.bundle/1");
    return *calls ? TSR_OK
                  : tsri_base_fail(TSR_E_UNSUPPORTED,
                                   "the backend %s of %s/%s does not support bundles of kernels",
                                   (*device)->backend->name, (*device)->facts.platform,
                                   (*device)->facts.name);
}

enum { DEEP = 512 }; /* tokens of a long context: attention has other kernels for it */
/* Tokens of longer prompts, up to the most of one run: products of more rows have larger tiles. */
static const int64_t longer[] = {128, 512, 2048};
enum { LONGER = sizeof longer / sizeof *longer, LONGEST = 2048 };

/* Room for every kind of result of `n` tokens. */
typedef struct room {
    float *logits, *top_logits, *top_lse, **hidden;
    int32_t *argmax, *top_ids, *ids;
    int32_t *slots;         /* of the keys of DEEP tokens: all in slot 0 */
    tsri_model_pages pages; /* of the longest sequence; read where a session has pages */
} room;

/* The number of layers of the deeper stack. */
static size_t layers_of(const tsri_model_spec *spec) {
    return (size_t)(spec->decoder.layers > spec->encoder.layers ? spec->decoder.layers
                                                                : spec->encoder.layers);
}

/* One page after the other, for as many tokens as are read. */
static tsr_status make_pages(const tsri_model_spec *spec, tsri_model_pages *out) {
    const int64_t tokens = spec->context < LONGEST ? spec->context : LONGEST;
    out->n = (int32_t)((tokens + TSRI_MODEL_PAGE - 1) / TSRI_MODEL_PAGE);
    TRY(tsri_base_new((size_t)out->n, sizeof *out->ids, &out->ids));
    for (int32_t i = 0; i < out->n; i++)
        out->ids[i] = i;
    return TSR_OK;
}

static tsr_status make_room(const tsri_model *model, size_t n, int32_t k, room *out) {
    const tsri_model_spec *spec = &model->spec;
    const tsri_model_weight *label = tsri_model_weight_at(model->weights, TSRI_WEIGHT_LABEL);
    const size_t layers = layers_of(spec) + 1;
    size_t numbers = (size_t)(spec->vocab > spec->width ? spec->vocab : spec->width);
    if (label && (size_t)label->dims[0] > numbers)
        numbers = (size_t)label->dims[0];
    TRY(tsri_base_new(n * numbers, sizeof(float), &out->logits));
    TRY(tsri_base_new(n * (size_t)k, sizeof(float), &out->top_logits));
    TRY(tsri_base_new(n, sizeof(float), &out->top_lse));
    TRY(tsri_base_new(n, sizeof(int32_t), &out->argmax));
    TRY(tsri_base_new(n * (size_t)k, sizeof(int32_t), &out->top_ids));
    TRY(tsri_base_new(LONGEST, sizeof(int32_t), &out->ids));
    TRY(tsri_base_new(DEEP, sizeof(int32_t), &out->slots));
    TRY(make_pages(spec, &out->pages));
    TRY(tsri_base_new(layers, sizeof *out->hidden, &out->hidden));
    for (size_t i = 0; i < layers; i++)
        TRY(tsri_base_new(n * (size_t)spec->width, sizeof(float), &out->hidden[i]));
    return TSR_OK;
}

static void clear_room(const tsri_model_spec *spec, room *r) {
    for (size_t i = 0; r->hidden && i <= layers_of(spec); i++)
        free(r->hidden[i]);
    free(r->hidden);
    free(r->logits);
    free(r->top_logits);
    free(r->top_lse);
    free(r->argmax);
    free(r->top_ids);
    free(r->ids);
    free(r->slots);
    free(r->pages.ids);
}

/* Makes the encoder's plans, with every head that the model has. */
static tsr_status encode(tsri_session *session, const tsri_model *model, const room *r, int32_t k,
                         int64_t n) {
    const bool decoder = model->spec.decoder.layers, masked = tsri_model_has_masked(model->weights),
               label = tsri_model_weight_at(model->weights, TSRI_WEIGHT_LABEL),
               pooler = tsri_model_weight_at(model->weights, TSRI_WEIGHT_POOLER);
    const struct {
        bool has;
        tsri_model_results results;
    } kinds[] = {
        {true, {.hidden = r->hidden}},
        {decoder, {0}},
        {!decoder, {.vectors = r->logits, .pooling = TSR_POOL_MEAN}},
        {!decoder, {.vectors = r->logits, .pooling = TSR_POOL_FIRST}},
        {pooler, {.pooled = r->logits}},
        {label, {.rows = TSRI_ROWS_ALL, .labels = r->logits}},
        {masked, {.rows = TSRI_ROWS_ALL, .logits = r->logits}},
        {masked,
         {.top_k = k, .top_logits = r->top_logits, .top_ids = r->top_ids, .top_lse = r->top_lse}},
    };
    const tsri_model_sequence tokens = {.ids = r->ids, .n = n};
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && status == TSR_OK; i++)
        if (kinds[i].has)
            status = tsri_session_encode(session, &tokens, 1, &kinds[i].results);
    return status;
}

/* Makes the decoder's plans for n tokens after `past` others: for the greedy choice, the largest logits,
 * a draw of them, all logits and hidden states; and, without pages, for the largest logits of a beam search,
 * which also says where each key lies. */
static tsr_status decode(tsri_session *session, const room *r, int32_t k, int64_t n, int64_t past,
                         bool pages) {
    const tsri_tensor_draw first = {0};
    const tsri_model_results kinds[] = {
        {.argmax = r->argmax},
        {.top_k = k, .top_logits = r->top_logits, .top_ids = r->top_ids, .top_lse = r->top_lse},
        {.top_k = k, .draws = &first, .drawn = r->argmax},
        {.logits = r->logits},
        {.rows = TSRI_ROWS_ALL, .logits = r->logits},
        {.rows = TSRI_ROWS_ALL, .logits = r->logits, .hidden = r->hidden},
    };
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int keys = 0; keys < 1 + (i == 1 && !pages) && status == TSR_OK; keys++) {
            const tsri_model_sequence tokens = {.ids = r->ids,
                                                .n = n,
                                                .past = past,
                                                .pages = &r->pages,
                                                .keys = keys ? r->slots : NULL};
            status = tsri_session_forward(session, &tokens, 1, &kinds[i]);
        }
    return status;
}

/* Makes the plans of a step with guessed tokens after `past` others. */
static tsr_status draft(tsri_session *session, const room *r, int32_t k, int64_t past) {
    const tsri_tensor_draw draws[TSRI_SESSION_FEW_ROWS] = {{0}};
    const tsri_model_results kinds[] = {
        {.rows = TSRI_ROWS_ALL, .argmax = r->argmax},
        {.rows = TSRI_ROWS_ALL, .top_k = k, .draws = draws, .drawn = r->argmax},
        {.rows = TSRI_ROWS_ALL,
         .top_k = k,
         .top_logits = r->top_logits,
         .top_ids = r->top_ids,
         .top_lse = r->top_lse,
         .logits = r->logits}};
    const tsri_model_sequence tokens = {
        .ids = r->ids, .n = TSRI_SESSION_FEW_ROWS, .past = past, .pages = &r->pages};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        TRY(tsri_session_forward(session, &tokens, 1, &kinds[i]));
    return TSR_OK;
}

/* Lets the decoder read up to DEEP tokens, and makes its plans for the token after them. */
static tsr_status decode_deep(tsri_session *session, const tsri_model_spec *spec, const room *r,
                              int32_t k, int64_t many, bool pages) {
    const int64_t deep = spec->context - 1 < DEEP ? spec->context - 1 : DEEP;
    const tsri_model_results results = {.argmax = r->argmax};
    tsri_model_sequence tokens = {.ids = r->ids, .n = many, .pages = &r->pages};
    for (; tokens.past + many <= deep; tokens.past += many)
        TRY(tsri_session_forward(session, &tokens, 1, &results));
    int64_t past = tokens.past;
    TRY(decode(session, r, k, 1, past, pages));
    past = past > TSRI_SESSION_FEW_ROWS ? past - TSRI_SESSION_FEW_ROWS : 0;
    return spec->context < TSRI_SESSION_FEW_ROWS ? TSR_OK : draft(session, r, k, past);
}

/* Makes the plans of one sequence of `n` tokens whose results need no room of their own. */
static tsr_status make_longer(tsri_session *session, const tsri_model *model, const room *r,
                              int64_t n) {
    const tsri_model_sequence tokens = {.ids = r->ids, .n = n, .pages = &r->pages};
    const bool decoder = model->spec.decoder.layers;
    if (model->spec.encoder.layers) {
        const tsri_model_results none = {0},
                                 vectors = {.vectors = r->logits, .pooling = TSR_POOL_MEAN};
        TRY(tsri_session_encode(session, &tokens, 1, decoder ? &none : &vectors));
    }
    const tsri_model_results results = {.argmax = r->argmax};
    return decoder ? tsri_session_forward(session, &tokens, 1, &results) : TSR_OK;
}

/* Makes every plan that tasks make in sessions with slots or with pages, each for one token and for many;
 * those that begin a task also for more tokens, and for decoders one token of a long context. The kernels
 * that other numbers of tokens would choose are chosen with them. */
static tsr_status make_plans(tsri_model *model, int64_t many, int32_t k, const room *r,
                             bool pages) {
    const tsri_session_sizes sizes = {.slots = 1, .pages = pages ? r->pages.n : 0};
    tsri_session *session = NULL;
    TRY(tsri_session_create_sized(model, &sizes, &session));
    tsr_status status = TSR_OK;
    for (int one = 0; one < 2 && status == TSR_OK; one++) {
        if (model->spec.encoder.layers)
            status = encode(session, model, r, k, one ? 1 : many);
        if (status == TSR_OK && model->spec.decoder.layers)
            status = decode(session, r, k, one ? 1 : many, 0, pages);
    }
    for (int i = 0; i < LONGER && status == TSR_OK; i++)
        if (model->spec.context > (i ? longer[i - 1] : many))
            status = make_longer(session, model, r,
                                 longer[i] < model->spec.context ? longer[i] : model->spec.context);
    if (status == TSR_OK && model->spec.decoder.layers)
        status = decode_deep(session, &model->spec, r, k, many, pages);
    tsri_session_destroy(&session);
    return status;
}

tsr_status tsr_bundle_export(tsr_model *model, const char *folder) {
    TRY(NEED(model));
    enum { MANY = 64, TOP = 40 };
    tsri_model *inner = tsri_model_of(model);
    const tsri_backend_opened_device *opened = tsri_model_devices_of(model);
    const tsri_backend_device *device = NULL;
    const tsr_backend_bundle *calls = NULL;
    room r = {0};
    if (!opened)
        return tsri_base_fail(TSR_E_STATE, "%s was opened without a device, so no kernel is chosen",
                              inner->path);
    if (!opened->record)
        return tsri_base_fail(TSR_E_STATE, "%s is on a device that wasn't opened to record kernels",
                              inner->path);
    TRY(bundles_of(opened, &device, &calls));
    const int64_t many = inner->spec.context < MANY ? inner->spec.context : MANY;
    const int32_t k = inner->spec.vocab < TOP ? inner->spec.vocab : TOP;
    tsr_status status = make_room(inner, (size_t)many, k, &r);
    if (status == TSR_OK)
        status = make_plans(inner, many, k, &r, false);
    /* The scheduler's sequences have pages (tsr_scheduler_create). */
    if (status == TSR_OK && inner->spec.decoder.layers && !inner->spec.encoder.layers)
        status = make_plans(inner, many, k, &r, true);
    clear_room(&inner->spec, &r);
    return status == TSR_OK ? calls->write(device->dev, folder) : status;
}

tsr_status tsr_bundle_build(tsr_device *device, const char *folder, const char *binary) {
    TRY(NEED(device));
    const tsri_backend_device *one = NULL;
    const tsr_backend_bundle *calls = NULL;
    TRY(bundles_of(tsri_backend_opened(device), &one, &calls));
    return calls->build(one->dev, folder, binary);
}
