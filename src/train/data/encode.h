/* train/data/encode.h - an example's text as the ids that a model learns from. */
#ifndef TSRI_TRAIN_DATA_ENCODE_H
#define TSRI_TRAIN_DATA_ENCODE_H

#include "model/load/load.h"
#include "text/tokenizer/languages.h"
#include "train/data/records.h"

typedef struct tsri_train_encoder {
    const tsri_model *model;
    tsri_training_objective objective;
    tsri_train_wants wants;
    tsri_text_direction direction;         /* translate */
    int32_t bos, eos, start, mask, filler; /* -1: none; filler stands behind sequences */
    int32_t before, behind;                /* masked: around a window; -1: none */
    size_t frame, target_frame;            /* ids that a text without tokens has */
    char digest[65];                       /* of all that ids depend on, but the text */
} tsri_train_encoder;

/* TSR_E_STATE: no tokenizer, or a token that the objective needs is not known. */
tsr_status tsri_train_encoder_make(const tsri_model *model, const tsri_train_data_options *options,
                                   tsri_train_encoder *out);
/* Appends the ids of a record: of its text to `first`, of a target to `second`. Of a stream nothing
 * is put around them, and there may be none. TSR_E_FORMAT: no tokens, or an id that the model does
 * not have; the sentence names no file. */
tsr_status tsri_train_encode(const tsri_train_encoder *encoder, const tsri_train_record *record,
                             tsri_text_ids *first, tsri_text_ids *second);
/* The same of what a translation is made of alone. */
tsr_status tsri_train_encode_source(const tsri_train_encoder *encoder, tsri_train_span text,
                                    tsri_text_ids *ids);
/* What stands before and behind each text of a stream; -1: nothing. */
void tsri_train_encoder_edges(const tsri_train_encoder *encoder, int32_t *before, int32_t *behind);

#endif
