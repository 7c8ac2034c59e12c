/* model/arch/encoder/camembert.c - CamemBERT: RoBERTa with another vocabulary, under RoBERTa's
 * names.
 * https://huggingface.co/docs/transformers/model_doc/camembert */
#include "model/arch/encoder/bert.h"

const tsri_model_arch tsri_model_arch_camembert = {
    .name = "camembert",
    .encoder_names = &tsri_model_names_roberta,
    .read = tsri_model_arch_roberta_like,
};
