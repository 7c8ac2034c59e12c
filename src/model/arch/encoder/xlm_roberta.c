/* model/arch/encoder/xlm_roberta.c - XLM-RoBERTa: RoBERTa with another vocabulary.
 * https://huggingface.co/docs/transformers/model_doc/xlm-roberta */
#include "model/arch/encoder/bert.h"

const tsri_model_arch tsri_model_arch_xlm_roberta = {
    .name = "xlm-roberta",
    .encoder_names = &tsri_model_names_roberta,
    .read = tsri_model_arch_roberta_like,
    .rotary = "jina_embeddings_v3",
};
