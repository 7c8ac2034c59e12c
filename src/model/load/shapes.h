/* model/load/shapes.h - models of random weights, by name: "shape:llama-110m". */
#ifndef TSRI_MODEL_LOAD_SHAPES_H
#define TSRI_MODEL_LOAD_SHAPES_H

#include "base/json.h"
#include "io/archive.h"

/* Whether `path` begins with "shape:". */
bool tsri_model_is_shape(const char *path);
/* TSR_E_ARGUMENT: no shape has that name; the message lists the shapes. */
tsr_status tsri_model_shape_open(const char *path, tsri_io_archive **out);
/* Its config.json. */
tsr_status tsri_model_shape_config(const char *path, json_t **out);

#endif
