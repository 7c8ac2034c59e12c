/* task/convert/conversion.h - what merge and quantize share: a model in Hugging Face's layout, read
 * array by array, and the new folder that its arrays are written to. */
#ifndef TSRI_TASK_CONVERT_CONVERSION_H
#define TSRI_TASK_CONVERT_CONVERSION_H

#include "io/save.h"
#include "model/load/load.h"

typedef struct tsri_task_conversion {
    const char *doing; /* "merging": for the message of a conversion that was cancelled */
    int (*progress)(void *data, uint64_t done, uint64_t total); /* may be NULL */
    void *progress_data;
    tsri_model *model;
    char *source, *whole; /* the model's folder, and the one of its modules.json: mostly the same */
    char *temporary, *place; /* the new folder, and the model's folder: itself or a folder in it */
    uint64_t done, total;    /* bytes of weights */
} tsri_task_conversion;

/* Opens the model. TSR_E_UNSUPPORTED, with `only` in the message, where it is not a folder with
 * config.json and safetensors. */
tsr_status tsri_task_conversion_open(tsri_task_conversion *c, const char *name,
                                     const tsri_model_options *options, const char *only);
/* Makes the folder; `fill` writes its own files to c->place. Beside them come copies of all others
 * that are not weights, and of the folders that modules.json names. After a failure nothing is
 * left. */
tsr_status tsri_task_conversion_fill(tsri_task_conversion *c, const char *folder,
                                     tsr_status (*fill)(void *data), void *data);
/* Writes model.safetensors; `write` gives each entry's bytes to tsri_task_conversion_write. */
tsr_status tsri_task_conversion_weights(const tsri_task_conversion *c, tsri_io_entry *entries,
                                        size_t n, tsri_io_write write, void *data);
/* Writes the next bytes of an array, and tells the caller how far the conversion is. */
tsr_status tsri_task_conversion_write(tsri_task_conversion *c, tsri_io_saver *saver,
                                      const void *bytes, uint64_t n);
void tsri_task_conversion_close(tsri_task_conversion *c);

#endif
