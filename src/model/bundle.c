/* Kernels of a model exported for devices that can't compile, and built. */
#include "tessera/bundle.h"

#include "base/error.h"
#include "base/memory.h"
#include "model/opened.h"

#include <stdlib.h>

/* The one device, and its backend's calls. */
static tsr_status bundles_of(const tsri_backend_opened_device *opened,
                             const tsri_backend_device **device, const tsr_backend_bundle **calls) {
    if (opened->n_devices != 1)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "a bundle is for one device; %zu are opened together",
                              opened->n_devices);
    *device = opened->devices[0];
    *calls = tsri_backend_extension(opened->set, (*device)->entry, "tsr.bundle/1");
    return *calls ? TSR_OK
                  : tsri_base_fail(
                        TSR_E_UNSUPPORTED, "the backend %s of %s/%s has no bundles of kernels",
                        (*device)->backend->name, (*device)->facts.platform, (*device)->facts.name);
}

/* Room for every kind of result of `n` tokens. */
typedef struct room {
    float *logits, *top_logits, *top_lse, **hidden;
    int32_t *argmax, *top_ids, *ids;
} room;

static tsr_status make_room(const tsri_model_spec *spec, size_t n, int32_t k, room *out) {
    const size_t layers = (size_t)spec->decoder.layers + 1;
    TRY(tsri_base_new(n * (size_t)spec->vocab, sizeof(float), &out->logits));
    TRY(tsri_base_new(n * (size_t)k, sizeof(float), &out->top_logits));
    TRY(tsri_base_new(n, sizeof(float), &out->top_lse));
    TRY(tsri_base_new(n, sizeof(int32_t), &out->argmax));
    TRY(tsri_base_new(n * (size_t)k, sizeof(int32_t), &out->top_ids));
    TRY(tsri_base_new(n, sizeof(int32_t), &out->ids));
    TRY(tsri_base_new(layers, sizeof *out->hidden, &out->hidden));
    for (size_t i = 0; i < layers; i++)
        TRY(tsri_base_new(n * (size_t)spec->width, sizeof(float), &out->hidden[i]));
    return TSR_OK;
}

static void clear_room(const tsri_model_spec *spec, room *r) {
    for (int32_t i = 0; r->hidden && i <= spec->decoder.layers; i++)
        free(r->hidden[i]);
    free(r->hidden);
    free(r->logits);
    free(r->top_logits);
    free(r->top_lse);
    free(r->argmax);
    free(r->top_ids);
    free(r->ids);
}

/* Every plan that tasks make: the greedy choice, the largest logits, all logits, hidden states;
 * each for one token and for many. What other numbers of tokens would choose is chosen with them.
 */
static tsr_status make_plans(tsri_model *model, int64_t many, int32_t k, const room *r) {
    const tsri_model_results kinds[] = {
        {.argmax = r->argmax},
        {.top_k = k, .top_logits = r->top_logits, .top_ids = r->top_ids, .top_lse = r->top_lse},
        {.logits = r->logits},
        {.rows = TSRI_ROWS_ALL, .logits = r->logits},
        {.rows = TSRI_ROWS_ALL, .logits = r->logits, .hidden = r->hidden},
    };
    tsri_session *session = NULL;
    TRY(tsri_session_create(model, 1, 0, &session));
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int one = 0; one < 2 && status == TSR_OK; one++) {
            const tsri_model_sequence tokens = {.ids = r->ids, .n = one ? 1 : many};
            status = tsri_session_forward(session, &tokens, 1, &kinds[i]);
        }
    tsri_session_destroy(&session);
    return status;
}

tsr_status tsr_bundle_export(tsr_model *model, const char *folder) {
    enum { MANY = 64, TOP = 40 };
    tsri_model *inner = tsri_model_of(model);
    const tsri_backend_opened_device *opened = tsri_model_devices_of(model);
    const tsri_backend_device *device = NULL;
    const tsr_backend_bundle *calls = NULL;
    room r = {0};
    if (!opened)
        return tsri_base_fail(TSR_E_STATE, "%s was opened without a device: no kernel is chosen",
                              inner->path);
    if (!opened->record)
        return tsri_base_fail(TSR_E_STATE, "%s is on a device that wasn't opened to record kernels",
                              inner->path);
    TRY(bundles_of(opened, &device, &calls));
    const int64_t many = inner->spec.context < MANY ? inner->spec.context : MANY;
    const int32_t k = inner->spec.vocab < TOP ? inner->spec.vocab : TOP;
    tsr_status status = make_room(&inner->spec, (size_t)many, k, &r);
    if (status == TSR_OK)
        status = make_plans(inner, many, k, &r);
    clear_room(&inner->spec, &r);
    return status == TSR_OK ? calls->write(device->dev, folder) : status;
}

tsr_status tsr_bundle_build(tsr_device *device, const char *folder, const char *binary) {
    const tsri_backend_device *one = NULL;
    const tsr_backend_bundle *calls = NULL;
    TRY(bundles_of(tsri_backend_opened(device), &one, &calls));
    return calls->build(one->dev, folder, binary);
}
