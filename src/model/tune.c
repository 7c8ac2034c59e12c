/* model/tune.c - tessera/tune.h: tunes the kernels of a model's plans, or of given shapes, on a
 * device. */
#include "tessera/tune.h"
#include "tune/tune.h"

#include "base/error.h"
#include "base/structs.h"
#include "model/load/product.h"
#include "model/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static tsr_status take_options(const tsr_tune_options *given, tsr_tune_options *out) {
    TRY(tsri_base_adopt("tsr_tune_options", given, out, sizeof *out));
    return out->seconds >= 0.1 && out->seconds <= 86400
               ? TSR_OK
               : tsri_base_fail(TSR_E_ARGUMENT,
                                "a budget of %g seconds was given; it must be from 0.1 to 86400",
                                out->seconds);
}

static void pass_result(void *data, const tsri_tune_tuned *found) {
    const tsr_tune_options *options = data;
    const tsr_tune_result result = {.struct_size = sizeof result,
                                    .kept = found->kept,
                                    .tried = found->tried,
                                    .wrong = found->wrong,
                                    .op = found->op,
                                    .variant = found->variant,
                                    .condition = found->condition,
                                    .before = found->before,
                                    .after = found->after,
                                    .before_ns = found->before_ns,
                                    .after_ns = found->after_ns};
    if (options->visit)
        options->visit(options->data, &result);
}

static bool ask_stop(void *data) {
    const tsr_tune_options *options = data;
    return options->stop && options->stop(options->data) != 0;
}

static tsr_status begin(const tsri_backend_opened_device *opened, tsri_tune **out) {
    const tsri_run_options run = {.devices = opened->devices,
                                  .n_devices = opened->n_devices,
                                  .set = opened->set,
                                  .log = opened->log,
                                  .log_data = opened->log_data};
    if (opened->n_devices != 1)
        return tsri_base_fail(TSR_E_UNSUPPORTED, "only one device is tuned at a time; %zu are open",
                              opened->n_devices);
    if (!opened->profile)
        return tsri_base_fail(TSR_E_STATE,
                              "the device was opened without profile, so it measures no launch");
    return tsri_tune_create(&run, out);
}

static tsr_status search(tsri_tune *tune, tsr_tune_options *options) {
    const tsri_tune_options asked = {.seconds = options->seconds,
                                     .write = options->write,
                                     .stop = ask_stop,
                                     .visit = pass_result,
                                     .data = options};
    return tsri_tune_search(tune, &asked);
}

tsr_status tsr_tune_model(tsr_model *model, const tsr_tune_options *options) {
    TRY(NEED(model));
    static const int64_t lengths[] = {512, 1};
    tsri_model *inner = tsri_model_of(model);
    const tsri_backend_opened_device *opened = tsri_model_devices_of(model);
    tsr_tune_options known;
    tsri_tune *tune = NULL;
    tsri_session *session = NULL;
    TRY(take_options(options, &known));
    if (!opened)
        return tsri_base_fail(TSR_E_STATE, "%s was opened without a device", inner->path);
    TRY(begin(opened, &tune));
    tsr_status status = tsri_session_create(inner, 1, 0, &session);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths && status == TSR_OK; i++) {
        const int64_t context = inner->spec.context;
        tsri_run_plan *plan = NULL;
        status = tsri_session_plan(session, lengths[i] < context ? lengths[i] : context, &plan);
        if (status == TSR_OK)
            status = tsri_tune_add_plan(tune, plan);
    }
    tsri_session_destroy(&session);
    if (status == TSR_OK)
        status = search(tune, &known);
    tsri_tune_destroy(&tune);
    return status;
}

/* --- shapes --- */

typedef struct shape {
    int64_t M, N, K;
    tsr_dtype dtype;
} shape;

static bool read_dtype(const char *name, tsr_dtype *out) {
    static const struct {
        const char *name;
        tsr_dtype dtype;
    } known[] = {{"f32", TSR_F32},
                 {"f16", TSR_F16},
                 {"bf16", TSR_BF16},
                 {"q8", TSR_GGML_Q8_0},
                 {"q4", TSR_GGML_Q4_0}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(name, known[i].name)) {
            *out = known[i].dtype;
            return true;
        }
    return false;
}

static tsr_status read_shape(const char *text, size_t n, shape *out) {
    enum { MOST = 1 << 24 };
    char copy[96], dtype[16] = "f32";
    int used = 0;
    bool right = n < sizeof copy;
    memcpy(copy, text, right ? n : 0);
    copy[right ? n : 0] = 0;
    right = right && sscanf(copy, "%" SCNd64 ",%" SCNd64 ",%" SCNd64 "%n", &out->M, &out->N,
                            &out->K, &used) == 3;
    if (right && copy[used] == ',')
        snprintf(dtype, sizeof dtype, "%.15s", copy + used + 1);
    else
        right = right && !copy[used];
    if (!right || !read_dtype(dtype, &out->dtype))
        return tsri_base_fail(
            TSR_E_ARGUMENT,
            "\"%.*s\" is not a shape: M,N,K or M,N,K,dtype with f32, f16, bf16, q8 or q4 is needed",
            (int)n, text);
    if (out->M < 1 || out->N < 1 || out->K < 1 || out->M > MOST || out->N > MOST || out->K > MOST)
        return tsri_base_fail(TSR_E_ARGUMENT, "\"%.*s\": a size must be from 1 to %d", (int)n, text,
                              MOST);
    if (out->dtype >= TSR_GGML_Q4_0 && out->K % 32)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "\"%.*s\": K of a weight in blocks must be a multiple of 32", (int)n,
                              text);
    return TSR_OK;
}

static tsr_status add_shape(tsri_tune *tune, const shape *s) {
    tsri_model_product product;
    tsri_model_product_make(s->M, s->N, s->K, s->dtype,
                            s->dtype >= TSR_GGML_Q4_0 ? TSR_COMPUTE_INT8 : TSR_COMPUTE_F32,
                            &product);
    return tsri_tune_add_op(tune, &product.op);
}

tsr_status tsr_tune_shapes(tsr_device *device, const char *shapes,
                           const tsr_tune_options *options) {
    tsr_tune_options known;
    tsri_tune *tune = NULL;
    shape one;
    TRY(NEED(device));
    TRY(take_options(options, &known));
    if (!shapes || !*shapes)
        return tsri_base_fail(TSR_E_ARGUMENT, "no shape was given: M,N,K[,dtype];... is needed");
    TRY(begin(tsri_backend_opened(device), &tune));
    tsr_status status = TSR_OK;
    for (const char *at = shapes; *at && status == TSR_OK;) {
        const size_t n = strcspn(at, ";");
        status = read_shape(at, n, &one);
        if (status == TSR_OK)
            status = add_shape(tune, &one);
        at += n + (at[n] == ';');
    }
    if (status == TSR_OK)
        status = search(tune, &known);
    tsri_tune_destroy(&tune);
    return status;
}
