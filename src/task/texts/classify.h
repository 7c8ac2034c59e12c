/* task/texts/classify.h - between the files of the classifier. */
#ifndef TSRI_TASK_TEXTS_CLASSIFY_H
#define TSRI_TASK_TEXTS_CLASSIFY_H

#include "model/model.h"
#include "task/texts/passages.h"
#include "tessera/classify.h"

struct tsr_classifier {
    tsri_model *model;
    tsri_session *session;
    tsri_task_reader reader;
    tsri_task_passages passages;
    tsr_classify_options options;
    tsr_classifier_kind kind;
    int32_t labels;
    float *raw; /* of a run */
    size_t raw_room;
    float *scores; /* of the call at hand */
    size_t n;
};

/* Numbers of a classifier into scores, in place: softmax over n, sigmoid of each, or as they are.
 */
void tsri_task_scores(tsr_classifier_kind kind, float *numbers, int32_t n);
/* TSR_E_CANCELLED where the callback asks for it. */
tsr_status tsri_task_classify_tell(void *classifier, size_t done);

#endif
