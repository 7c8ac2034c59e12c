/* model/model.h - what a public tsr_model holds, for the tasks that run it. */
#ifndef TSRI_MODEL_MODEL_H
#define TSRI_MODEL_MODEL_H

#include "backend/opened.h"
#include "model/session/session.h"
#include "tessera/model.h"
#include "tessera/run.h"

/* Borrowed until the model is closed. Its `run` is NULL if it was opened without a device. */
tsri_model *tsri_model_of(const tsr_model *model);
/* The devices that the model was opened on; NULL: none. */
const tsri_backend_opened_device *tsri_model_devices_of(const tsr_model *model);

/* The time of each kernel that `run` has measured on these devices so far. */
tsr_status tsri_model_profile(tsri_run_context *run, const tsri_backend_opened_device *opened,
                              void (*visit)(void *data, const tsr_profiled *entry), void *data);

#endif
