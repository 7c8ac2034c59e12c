/* model/weights/coded.c - finds the quantised matrices of a folder, and puts arrays that are made of their
 * parts in the place of these. */
#include "model/weights/coded.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "model/weights/quantized.h"
#include "tensor/dtype.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const tsri_model_coded_format *const formats[] = {
    &tsri_model_coded_awq, &tsri_model_coded_bitsandbytes, &tsri_model_coded_compressed,
    &tsri_model_coded_fp8, &tsri_model_coded_gptq};
enum { FORMATS = sizeof formats / sizeof *formats };

/* A matrix that was found, with its name, before it is put in the place of its codes. */
typedef struct found {
    size_t index;
    char *name;
    tsri_model_coded_matrix *matrix;
} found;

typedef struct finding {
    tsri_model_coded_job job;
    const tsri_model_coded_format *format;
    found *items;
    size_t n, room;
} finding;

/* What folders of compressed-tensors before 0.6 call it, without a quant_method. */
#define OLD_KEY "compression_config"

/* Older folders of bitsandbytes have no quant_method. */
static const char *method_of(const json_t *settings) {
    const json_t *method = json_object_get(settings, "quant_method");
    if (json_is_string(method))
        return json_string_value(method);
    const bool loaded = json_is_true(json_object_get(settings, "load_in_4bit")) ||
                        json_is_true(json_object_get(settings, "load_in_8bit"));
    return loaded ? tsri_model_coded_bitsandbytes.method : NULL;
}

static tsr_status refuse_method(const char *what, const char *method) {
    char served[160] = "";
    size_t n = 0;
    for (size_t i = 0; i < FORMATS; i++)
        n += (size_t)snprintf(served + n, sizeof served - n, "%s, ", formats[i]->method);
    return tsri_base_fail(TSR_E_UNSUPPORTED,
                          "%s: \"" TSRI_QUANTIZED_KEY "\": \"quant_method\" is %s%.40s%s, which is "
                          "not read; %smxfp4 and " TSRI_QUANTIZED_METHOD
                          " are: give the model in one of them, or in floats",
                          what, method ? "\"" : "", method ? method : "missing", method ? "\"" : "",
                          served);
}

/* The dtype that config.json gives the model; f32 where it gives none. */
static tsr_status read_wide(const json_t *config, const char *what, tsr_dtype *out) {
    static const struct {
        const char *name;
        tsr_dtype dtype;
    } known[] = {{"bfloat16", TSR_BF16}, {"float16", TSR_F16}};
    const char *name = "float32";
    TRY(tsri_base_json_text(config, what, "torch_dtype", &name));
    TRY(tsri_base_json_text(config, what, "dtype", &name));
    *out = TSR_F32;
    name += strncmp(name, "torch.", 6) == 0 ? 6 : 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i].name) == 0)
            *out = known[i].dtype;
    return TSR_OK;
}

static bool is_unread(const tsri_model_coded_format *format, const char *name) {
    for (const char *const *end = format->unread; end && *end; end++)
        if (tsri_base_ends_with(name, *end))
            return true;
    return false;
}

static tsr_status find_matrices(finding *f) {
    const tsri_io_archive *archive = f->job.archive;
    char stem[TSRI_CODED_NAME];
    for (size_t i = 0; i < archive->n_arrays; i++) {
        tsri_model_coded_matrix *matrix = NULL;
        if (is_unread(f->format, archive->arrays[i].name))
            f->job.gone[i] = true;
        tsr_status status = f->format->take(&f->job, i, stem, &matrix);
        if (!matrix && status == TSR_OK)
            continue;
        if (status == TSR_OK)
            status = tsri_base_grow(&f->items, &f->room, f->n + 1, sizeof *f->items);
        if (status != TSR_OK) {
            free(matrix);
            return status;
        }
        strcat(stem, ".weight");
        f->items[f->n++] =
            (found){.index = i, .name = tsri_base_copy_text(stem, strlen(stem)), .matrix = matrix};
        if (!f->items[f->n - 1].name)
            return TSR_E_HOST_MEMORY;
    }
    return TSR_OK;
}

/* The bytes of all arrays that a matrix is made from. */
static uint64_t stored_bytes(const tsri_model_coded_matrix *m) {
    return m->codes.bytes + m->scales.bytes + (m->zeros.name ? m->zeros.bytes : 0) +
           (m->more.name ? m->more.bytes : 0);
}

/* Turns the array of a matrix' codes into that of its numbers. */
static tsr_status put(tsri_io_archive *archive, found *item, tsr_dtype wide,
                      tsri_model_coded_summary *out) {
    tsri_model_coded_matrix *m = item->matrix;
    tsri_io_array *array = &archive->arrays[item->index];
    tsr_dtype dtype = TSR_DTYPE_NONE;
    TRY(tsri_model_coded_blocks(archive, m, &dtype));
    TRY(tsri_io_rename(archive, item->index, item->name, strlen(item->name)));
    /* The arrays that they were copied from are removed, with their names. */
    tsri_io_array *const parts[] = {&m->codes, &m->scales, &m->zeros, &m->more};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i]->name)
            parts[i]->name = array->name;
    m->made.stored = stored_bytes(m);
    out->matrices++;
    out->q4_0 += dtype == TSR_GGML_Q4_0;
    out->q8_0 += dtype == TSR_GGML_Q8_0;
    array->dtype = dtype == TSR_DTYPE_NONE ? wide : dtype;
    array->type_name = tsri_tensor_dtype_info(array->dtype)->name;
    array->rank = 2;
    array->dims[0] = m->rows;
    array->dims[1] = m->columns;
    array->elements = (uint64_t)m->rows * (uint64_t)m->columns;
    tsri_tensor_bytes(array->dtype, array->elements, &array->bytes);
    array->made = &m->made;
    item->matrix = NULL; /* the archive owns it */
    return TSR_OK;
}

static tsr_status adopt(finding *f, tsr_dtype wide, tsri_model_coded_summary *out) {
    int bits[9] = {0}, most = 0;
    TRY(f->format->check(&f->job));
    TRY(find_matrices(f));
    if (!f->n)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: \"" TSRI_QUANTIZED_KEY "\" says %s, but no tensor of %s is "
                              "quantised so: the weights belong to another model",
                              f->job.what, f->format->method, f->job.archive->path);
    for (size_t i = 0; i < f->n; i++) {
        bits[f->items[i].matrix->bits]++;
        TRY(put(f->job.archive, &f->items[i], wide, out));
    }
    for (int i = 1; i <= 8; i++)
        most = bits[i] > bits[most] ? i : most;
    out->title = f->format->title;
    out->wide = wide;
    out->activations = f->job.activations;
    snprintf(out->type, sizeof out->type, "%s %d bits", f->format->method, most);
    return tsri_io_remove(f->job.archive, f->job.gone);
}

tsr_status tsri_model_coded_adopt(json_t *config, const char *what, tsri_io_archive *archive,
                                  tsri_model_coded_summary *out) {
    const json_t *own = json_object_get(config, TSRI_QUANTIZED_KEY),
                 *old = json_object_get(config, OLD_KEY);
    const bool is_old = (!own || json_is_null(own)) && json_is_object(old);
    const json_t *settings = is_old ? old : own;
    finding f = {.job = {.archive = archive, .what = what, .settings = settings}};
    tsr_dtype wide = TSR_F32;
    *out = (tsri_model_coded_summary){0};
    if (!settings || json_is_null(settings))
        return TSR_OK;
    const char *method = is_old ? tsri_model_coded_compressed.method : method_of(settings);
    for (size_t i = 0; i < FORMATS; i++)
        if (method && strcmp(formats[i]->method, method) == 0)
            f.format = formats[i];
    if (!f.format)
        return refuse_method(what, method);
    TRY(read_wide(config, what, &wide));
    TRY(tsri_base_new(archive->n_arrays, sizeof *f.job.gone, &f.job.gone));
    const tsr_status status = adopt(&f, wide, out);
    for (size_t i = 0; i < f.n; i++) {
        free(f.items[i].name);
        free(f.items[i].matrix);
    }
    free(f.items);
    free(f.job.gone);
    if (status == TSR_OK)
        json_object_del(config, is_old ? OLD_KEY : TSRI_QUANTIZED_KEY);
    return status;
}

void tsri_model_coded_tell(const tsri_model_coded_summary *summary, char text[TSRI_CODED_TEXT]) {
    const struct {
        int64_t matrices;
        const char *dtype, *how;
    } kinds[] = {
        {summary->q4_0, "q4_0", "exactly"},
        {summary->q8_0, "q8_0", "exactly"},
        {summary->matrices - summary->q4_0 - summary->q8_0,
         tsri_tensor_dtype_info(summary->wide)->name, "rounded"},
    };
    size_t n = (size_t)snprintf(text, TSRI_CODED_TEXT, "%" PRId64 " matrices of %s are read",
                                summary->matrices, summary->type);
    for (size_t i = 0, told = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].matrices)
            n += (size_t)snprintf(text + n, TSRI_CODED_TEXT - n, "%s %" PRId64 " as %s, %s",
                                  told++ ? ";" : ":", kinds[i].matrices, kinds[i].dtype,
                                  kinds[i].how);
    if (summary->activations)
        snprintf(text + n, TSRI_CODED_TEXT - n,
                 "; the method quantises activations, too, which stay floats here");
}
