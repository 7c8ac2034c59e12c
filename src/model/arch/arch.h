/* model/arch/arch.h - the table of architectures: each is one file in a folder below, by the stacks
 * that it has, and one line of arch.def. */
#ifndef TSRI_MODEL_ARCH_ARCH_H
#define TSRI_MODEL_ARCH_ARCH_H

#include "model/arch/common/family.h"

/* The architecture of this name, or NULL if there is none. */
const tsri_model_arch *tsri_model_arch_find(const char *model_type);
/* That of a class of transformers: "BertForMaskedLM", "XLMRobertaModel". */
const tsri_model_arch *tsri_model_arch_find_class(const char *class);
/* Number i of the table; NULL behind its end. */
const tsri_model_arch *tsri_model_arch_at(size_t i);
const tsri_model_arch *tsri_model_arch_find_gguf(const char *architecture);
/* "gpt2, llama, ..." for messages: the names in config.json, or those in GGUF. The room grows with the
 * table; names are shorter than 23 characters, and a comma and a blank follow each. */
enum {
    TSRI_MODEL_ARCH_LIST = 0
#define TSRI_MODEL_ARCH(name) +24
#include "model/arch/arch.def"
#undef TSRI_MODEL_ARCH
};
void tsri_model_arch_list(bool gguf, char text[TSRI_MODEL_ARCH_LIST]);

/* The spec that a config gives when there are no files; its model_type must be one that is served.
 *
 * owner  the caller: tsri_model_spec_clear, whatever the result */
tsr_status tsri_model_arch_read(json_t *config, const char *what, const tsri_model_arch **arch,
                                tsri_model_spec *spec);

#define TSRI_MODEL_ARCH(name) extern const tsri_model_arch tsri_model_arch_##name;
#include "model/arch/arch.def"
#undef TSRI_MODEL_ARCH

#endif
