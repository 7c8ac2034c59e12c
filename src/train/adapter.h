/* train/adapter.h - adapter_config.json beside the adapters of LoRA, as PEFT reads it. */
#ifndef TSRI_TRAIN_ADAPTER_H
#define TSRI_TRAIN_ADAPTER_H

#include "train/settings.h"

/* Into `folder`; the modules are those of the file's arrays ("...q_proj.lora_A.weight"). */
tsr_status tsri_train_adapter_config(const char *folder, const char *weights, const char *base,
                                     const tsri_train_settings *settings);

#endif
