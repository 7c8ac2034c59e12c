/* train/data/encode.h - makes the ids that a model learns from out of an example's text. */
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
    int32_t bos, eos, start, mask, filler; /* -1: none; filler pads sequences */
    int32_t before, behind;                /* masked: around a window; -1: none */
    size_t frame, target_frame;            /* ids that an empty text has */
    char digest[65];                       /* of everything but the text that ids depend on */
} tsri_train_encoder;

/* TSR_E_STATE: there is no tokenizer, or it lacks a token that the objective needs. */
tsr_status tsri_train_encoder_make(const tsri_model *model, const tsri_train_data_options *options,
                                   tsri_train_encoder *out);
/* Appends the ids of a record: those of its text to `first`, those of a target to `second`; of words, `second` has
 * for each token 1 + the number of the word that it begins, or 0. A text
 * of a stream gets no special tokens around it, and may have no ids. TSR_E_FORMAT: there are no
 * tokens, or an id is outside the model's vocabulary; the message does not name the file. */
tsr_status tsri_train_encode(const tsri_train_encoder *encoder, const tsri_train_record *record,
                             tsri_text_ids *first, tsri_text_ids *second);
/* The same for the source of a translation alone. */
tsr_status tsri_train_encode_source(const tsri_train_encoder *encoder, tsri_train_span text,
                                    tsri_text_ids *ids);
/* The tokens that stand before and behind each text of a stream; -1: none. */
void tsri_train_encoder_edges(const tsri_train_encoder *encoder, int32_t *before, int32_t *behind);

#endif
