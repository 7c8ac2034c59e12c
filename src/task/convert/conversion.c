/* task/convert/conversion.c - opens a model in Hugging Face's layout and writes a new folder, for
 * merge and quantize. */
#include "task/convert/conversion.h"

#include "base/error.h"
#include "base/files.h"
#include "base/folder.h"
#include "model/load/model_path.h"

#include <stdlib.h>

tsr_status tsri_task_conversion_open(tsri_task_conversion *c, const char *name,
                                     const tsri_model_options *options, const char *only) {
    char *path = NULL;
    TRY(tsri_model_locate(name, &path));
    tsr_status status = tsri_model_open(path, options, &c->model);
    if (status == TSR_OK && c->model->archive->format != TSRI_IO_SAFETENSORS &&
        c->model->archive->format != TSRI_IO_INDEX)
        status = tsri_base_fail(TSR_E_UNSUPPORTED, "%s is %s; %s", path, c->model->format, only);
    if (status == TSR_OK)
        status = tsri_base_folder_of(path, &c->source);
    free(path);
    return status;
}

tsr_status tsri_task_conversion_fill(tsri_task_conversion *c, const char *folder,
                                     tsr_status (*fill)(void *data), void *data) {
    TRY(tsri_base_folder_begin(folder, &c->temporary));
    return tsri_base_folder_end(folder, &c->temporary, fill(data));
}

tsr_status tsri_task_conversion_weights(const tsri_task_conversion *c, tsri_io_entry *entries,
                                        size_t n, tsri_io_write write, void *data) {
    static const char *const metadata[] = {"format", "pt"};
    char *path = tsri_base_join(c->temporary, "model.safetensors");
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
    c->source = NULL;
}
