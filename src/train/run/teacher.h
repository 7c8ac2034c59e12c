/* train/run/teacher.h - a frozen model that computes logits of each batch, for the model that
 * learns. */
#ifndef TSRI_TRAIN_RUN_TEACHER_H
#define TSRI_TRAIN_RUN_TEACHER_H

#include "tessera/model.h"
#include "train/step/training.h"

typedef struct tsri_train_teacher tsri_train_teacher;

/* `name` is as in tsr_model_open. A classifier may have the student's labels in another order.
 * error  TSR_E_ARGUMENT  it has another number of logits than the student, lacks one of its labels,
 *                        or has another token at an id; the message has both */
tsr_status tsri_train_teacher_open(const char *name, tsr_device *device, const tsr_model *student,
                                   tsri_training_objective objective, int32_t B, int32_t T,
                                   int32_t S, tsri_train_teacher **out);
/* The teacher itself, borrowed. */
const tsr_model *tsri_train_teacher_model(const tsri_train_teacher *teacher);
/* Sets batch->teacher, borrowed until the next call. */
tsr_status tsri_train_teacher_run(tsri_train_teacher *teacher, tsri_training_batch *batch);
void tsri_train_teacher_close(tsri_train_teacher **teacher);

#endif
