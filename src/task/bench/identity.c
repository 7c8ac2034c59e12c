/* task/bench/identity.c - says which weights were measured. */
#include "task/bench/bench.h"

#include "base/error.h"
#include "model/load/fingerprint.h"
#include "model/load/measure.h"
#include "tensor/shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "q8" for "q8_0": the classes of docs/benchmark.md. */
static void class_of(const char *dtype, char out[16]) {
    snprintf(out, 16, "%.*s", *dtype == 'q' ? 2 : 15, dtype);
}

tsr_status tsri_task_identify(tsr_model *model, const char *name, uint32_t dtype, const char *known,
                              tsri_task_identity *out) {
    const tsri_model *m = tsri_model_of(model);
    tsr_model_memory memory = {.struct_size = sizeof memory};
    tsri_model_measures figures;
    *out = (tsri_task_identity){.model = {.name = name}};
    tsri_model_measure(m, &figures);
    TRY(tsr_model_memory_get(model, &memory));
    if (dtype)
        class_of(tsri_tensor_dtype_name(dtype), out->dtype);
    class_of(dtype ? tsri_tensor_dtype_name(dtype) : figures.kept, out->kept);
    if (known)
        snprintf(out->hash, sizeof out->hash, "%s", known);
    else
        TRY(tsri_model_hash_weights(m, UINT64_MAX, out->hash));
    class_of(tsri_tensor_dtype_name(m->kv_dtype), out->kv_dtype);
    out->model.kv_dtype = m->run && m->spec.decoder.layers ? out->kv_dtype : NULL;
    out->model.compute = m->run ? figures.compute : NULL; /* a constant */
    out->model.dtype = dtype ? out->dtype : NULL;
    out->model.kept = out->kept;
    out->model.hash = out->hash;
    out->model.parameters = (int64_t)figures.parameters;
    out->model.bytes = memory.weights;
    return TSR_OK;
}
