/* train/run/job.h - a run from its options to its end: what its parts share.
 *
 *     run_json.c      options, or run.json of a run that goes on, as one object
 *     output.c        the folder OUT
 *     start_folder.c  the folder that training begins with: from a recipe, from a model, with a new
 *                     head
 *     setup.c         OUT, model, data, teacher, memory, checkpoint: all that is before the first
 *                     step
 *     loop.c          steps, validations, checkpoints
 *     validation.c    how well the model does on what it does not learn from
 *     sample.c        what the model says now
 *     progress.c      what the caller is told
 *     ../train.c      tsr_train: one after the other
 */
#ifndef TSRI_TRAIN_RUN_JOB_H
#define TSRI_TRAIN_RUN_JOB_H

#include "tessera/train.h"
#include "train/checkpoint/checkpoint.h"
#include "train/data/data.h"
#include "train/recipe/recipe.h"
#include "train/run/log.h"
#include "train/run/teacher.h"

typedef struct tsri_train_job {
    const tsr_train_options *options;
    tsr_device *device;
    char *out;    /* of a dry run: a temporary folder */
    int lock;     /* file descriptor, or -1 */
    bool made;    /* OUT was not there */
    bool failed;  /* a new run, before its first step */
    json_t *run;  /* what run.json holds */
    bool goes_on; /* OUT held a run */
    tsri_train_settings settings;
    tsri_train_recipe *recipe; /* NULL: a model goes on learning */
    char *start;               /* folder of the model that the run began with */
    bool started;              /* and it is OUT's own */
    char *checkpoint;          /* folder that this run goes on from; NULL: none */
    tsri_training_objective objective;
    tsr_model *model;
    tsri_train_companions companions; /* of `start`; none with LoRA */
    tsri_training *training;
    tsri_train_data *data, *evaluated; /* evaluated: with batches of another size, or NULL */
    tsri_train_data *validation;       /* of either; NULL: there is none */
    tsri_train_teacher *teacher;
    tsri_train_log *log;
    tsr_train_plan plan;
    tsri_train_position at;
    int64_t steps;
    int64_t saved;   /* step of the last checkpoint; 0: none */
    bool told_stays; /* of an old checkpoint that can't be removed */
    bool stop;       /* progress asked for it */
    bool stopped;    /* early */
} tsri_train_job;

/* ---- run_json.c ---- */

/* Fills `run` and `settings` from the options, or from the run.json that OUT holds. */
tsr_status tsri_train_run_json(tsri_train_job *job);
tsr_status tsri_train_run_json_save(const tsri_train_job *job);
/* Texts of a list in run.json, as an array of borrowed strings in new memory. */
tsr_status tsri_train_run_json_list(const tsri_train_job *job, const char *key, const char ***list,
                                    size_t *n);
/* A text of run.json, or NULL. */
const char *tsri_train_run_json_text(const tsri_train_job *job, const char *key);
/* "generate", "fill-mask", "translate", "classify". */
const char *tsri_train_task_name(tsri_training_objective objective);

/* ---- start_folder.c ---- */

/* What data are read by; strings are borrowed from the job, the lists are to be freed. */
tsr_status tsri_train_data_asked(tsri_train_job *job, tsri_train_data_options *options);
void tsri_train_data_asked_free(tsri_train_data_options *options);
/* What the model is to learn: as asked, or by what it is. Touches no disk. */
tsr_status tsri_train_objective(tsri_train_job *job);
/* Sets `start`, the folder to be opened; it is made where it has to be. */
tsr_status tsri_train_start_folder(tsri_train_job *job);

/* ---- output.c ---- */

/* Whether OUT may be written: it is not there, is empty, or holds a run that is to go on. */
tsr_status tsri_train_output_check(const tsri_train_job *job);
/* Sets `out`: of a dry run a temporary folder. */
tsr_status tsri_train_output_choose(tsri_train_job *job);
/* Makes OUT and what leads to it, and takes the lock that keeps a second run away. */
tsr_status tsri_train_output_take(tsri_train_job *job);
/* Leaves OUT as it was found, after a dry run or one that failed before its first step. */
void tsri_train_output_undo(const tsri_train_job *job);

/* ---- setup.c ---- */

tsr_status tsri_train_set_up(tsri_train_job *job);
void tsri_train_job_clear(tsri_train_job *job);

/* ---- loop.c, validation.c, sample.c ---- */

tsr_status tsri_train_loop(tsri_train_job *job);
/* Mean loss over the targets of the validation; accuracy of a classifier, else NAN. */
tsr_status tsri_train_validate(tsri_train_job *job, double *loss, double *accuracy);
/* Appends a sample of what the model says; nothing where the model has no tokenizer. */
tsr_status tsri_train_sample(tsri_train_job *job, tsri_bytes *text);

/* ---- progress.c ---- */

/* Calls progress; true where the run is to stop. `event` needs no struct_size. */
bool tsri_train_tell(tsri_train_job *job, tsr_train_event event);
__attribute__((format(printf, 3, 4))) void
tsri_train_say(tsri_train_job *job, tsr_train_event_kind kind, const char *format, ...);

#endif
