/* model/weights/adapter_config.h - the adapter_config.json of a LoRA adapter. */
#ifndef TSRI_MODEL_WEIGHTS_ADAPTER_CONFIG_H
#define TSRI_MODEL_WEIGHTS_ADAPTER_CONFIG_H

#include "tessera/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tsri_model_adapter_config {
    int64_t rank;
    double alpha;
    bool by_root;    /* B A is scaled by alpha / sqrt(r), else alpha / r */
    bool tying;      /* what replaces the embedding replaces an output matrix that is it, too */
    bool ranks_vary; /* r holds only for most matrices, not for all */
} tsri_model_adapter_config;

/* Reads the file and refuses, by name, settings that change results in ways that are not served. */
tsr_status tsri_model_adapter_config_read(const char *folder, tsri_model_adapter_config *out);

#endif
