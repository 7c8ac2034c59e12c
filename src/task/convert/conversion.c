/* task/convert/conversion.c - opens a model in Hugging Face's layout and writes a new folder, for
 * merge and quantize. */
#include "task/convert/conversion.h"

#include "base/error.h"
#include "base/files.h"
#include "base/folder.h"
#include "base/memory.h"
#include "base/system/paths.h"
#include "base/text.h"
#include "model/load/caches.h"
#include "model/load/model_path.h"
#include "model/load/sentence.h"
#include "model/tokens/tokens.h"

#include <stdlib.h>
#include <string.h>

tsr_status tsri_task_conversion_open(tsri_task_conversion *c, const char *name,
                                     const tsri_model_options *options, const char *only) {
    char *path = NULL;
    TRY(tsri_model_locate(name, &path));
    tsr_status status = tsri_model_tell_download(tsri_model_open(path, options, &c->model), name);
    if (status == TSR_OK && c->model->archive->format != TSRI_IO_SAFETENSORS &&
        c->model->archive->format != TSRI_IO_INDEX)
        status = tsri_base_fail(TSR_E_UNSUPPORTED, "%s is %s; %s", path, c->model->format, only);
    if (status == TSR_OK)
        c->source = tsri_base_copy_text(c->model->folder, strlen(c->model->folder));
    if (status == TSR_OK)
        status = !c->source ? TSR_E_HOST_MEMORY : tsri_model_sentence_place(c->source, &c->whole);
    free(path);
    return status;
}

/* Where a model of sentence-transformers lies in a folder of its own, so does the new one. */
static tsr_status make_place(tsri_task_conversion *c) {
    const bool inside = strcmp(c->source, c->whole) != 0;
    char *own = inside ? tsri_model_sentence_transformer(c->whole) : NULL;
    c->place = !inside ? tsri_base_copy_text(c->temporary, strlen(c->temporary))
               : own   ? tsri_base_join(c->temporary, tsri_system_last_slash(own) + 1)
                       : NULL;
    free(own);
    if (!c->place)
        return TSR_E_HOST_MEMORY;
    return inside ? tsri_base_folder_anew(c->place) : TSR_OK;
}

/* Whether it is neither hidden nor a file of weights, of any format: the new folder has its own
 * weights. */
static bool is_other(const char *name) {
    static const char *const ends[] = {".safetensors", ".safetensors.index.json",
                                       ".bin",         ".bin.index.json",
                                       ".pt",          ".pth",
                                       ".h5",          ".msgpack",
                                       ".ot",          ".onnx",
                                       ".gguf"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (tsri_base_ends_with(name, ends[i]))
            return false;
    return name[0] != '.';
}

/* Copies the folder of this name in `from` to one in `to`, where there is such a folder. */
static tsr_status copy_inner(const char *from, const char *to, const char *name) {
    char *source = tsri_base_join(from, name), *target = tsri_base_join(to, name);
    const tsr_status status =
        source && target ? tsri_base_folder_copy(source, target, NULL) : TSR_E_HOST_MEMORY;
    free(source);
    free(target);
    return status;
}

static tsr_status copy_module(void *data, const char *name) {
    const tsri_task_conversion *c = data;
    return copy_inner(c->whole, c->temporary, name);
}

static tsr_status copy_others(tsri_task_conversion *c) {
    TRY(tsri_base_folder_copy(c->source, c->place, is_other));
    TRY(copy_inner(c->source, c->place, tsri_model_more_templates));
    if (strcmp(c->source, c->whole) != 0)
        TRY(tsri_base_folder_copy(c->whole, c->temporary, is_other));
    return tsri_model_sentence_visit(c->whole, copy_module, c);
}

tsr_status tsri_task_conversion_fill(tsri_task_conversion *c, const char *folder,
                                     tsr_status (*fill)(void *data), void *data) {
    TRY(tsri_base_folder_begin(folder, &c->temporary));
    tsr_status status = make_place(c);
    if (status == TSR_OK)
        status = fill(data);
    if (status == TSR_OK)
        status = copy_others(c);
    return tsri_base_folder_end(folder, &c->temporary, status);
}

tsr_status tsri_task_conversion_weights(const tsri_task_conversion *c, tsri_io_entry *entries,
                                        size_t n, tsri_io_write write, void *data) {
    static const char *const metadata[] = {"format", "pt"};
    char *path = tsri_base_join(c->place, "model.safetensors");
    if (!path)
        return TSR_E_HOST_MEMORY;
    const tsr_status status = tsri_io_save_each(path, entries, n, metadata, 1, write, data);
    free(path);
    return status;
}

tsr_status tsri_task_conversion_write(tsri_task_conversion *c, tsri_io_saver *saver,
                                      const void *bytes, uint64_t n) {
    TRY(tsri_io_save_write(saver, bytes, (size_t)n));
    c->done += n;
    if (c->progress && c->progress(c->progress_data, c->done, c->total))
        return tsri_base_fail(TSR_E_CANCELLED, "%s was cancelled", c->doing);
    return TSR_OK;
}

void tsri_task_conversion_close(tsri_task_conversion *c) {
    tsri_model_close(&c->model);
    free(c->source);
    free(c->whole);
    free(c->place);
    c->source = c->whole = c->place = NULL;
}
