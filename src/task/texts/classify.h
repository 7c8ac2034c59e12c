/* task/texts/classify.h - what the files of the classifier share. */
#ifndef TSRI_TASK_TEXTS_CLASSIFY_H
#define TSRI_TASK_TEXTS_CLASSIFY_H

#include "model/load/sentence.h"
#include "model/model.h"
#include "task/texts/passages.h"
#include "tessera/classify.h"

struct tsr_classifier {
    tsri_model *model;
    tsri_session *session;
    tsri_task_reader reader;
    tsri_task_passages passages;
    tsri_model_sentence sentence; /* its prompts */
    const char *prompt;           /* before the first text of a pair */
    tsr_classify_options options;
    tsr_classifier_kind kind;
    int32_t labels;
    float *raw; /* results of a run */
    size_t raw_room;
    float *scores; /* of the current call */
    bool plain;    /* they stay the head's own numbers */
    size_t n;
};

/* Turns the numbers of a classifier into scores, in place: softmax over n, sigmoid of each, or
 * unchanged. */
void tsri_task_scores(tsr_classifier_kind kind, float *numbers, int32_t n);
/* TSR_E_UNSUPPORTED: the model's files want pairs of texts in a form that is not served. */
tsr_status tsri_task_classify_pairs(const tsr_classifier *classifier);
/* Tells the callback; TSR_E_CANCELLED where it asks for that. */
tsr_status tsri_task_classify_tell(void *classifier, size_t done);

#endif
