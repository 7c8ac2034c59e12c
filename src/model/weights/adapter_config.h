/* model/weights/adapter_config.h - adapter_config.json of a LoRA adapter. */
#ifndef TSRI_MODEL_WEIGHTS_ADAPTER_CONFIG_H
#define TSRI_MODEL_WEIGHTS_ADAPTER_CONFIG_H

#include "tessera/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tsri_model_adapter_config {
    int64_t rank;
    double alpha;
    bool by_root;    /* B A is scaled by alpha / sqrt(r), else alpha / r */
    bool ranks_vary; /* r is that of most matrices alone */
} tsri_model_adapter_config;

/* Reads it and refuses, by name, what changes results in ways that aren't served. */
tsr_status tsri_model_adapter_config_read(const char *folder, tsri_model_adapter_config *out);

#endif
