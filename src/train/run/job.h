/* train/run/job.h - the state of a run, which its parts share.
 *
 *     run_json.c      makes one object from the options, or from the run.json of a resumed run
 *     output.c        prepares the folder OUT
 *     start_folder.c  makes the folder that training begins with: from a recipe, from a model, or
 *                     from a model with a new head
 *     setup.c         does everything before the first step: OUT, model, data, teacher, memory,
 *                     checkpoint
 *     loop.c          runs steps, validations, checkpoints
 *     gradients.c     runs the batches of a step, shard by shard
 *     ranks.c         what the ranks of a run agree on
 *     balance.c       how fast they are, and which shards each gets
 *     validation.c    measures the model on data that it does not learn from
 *     sample.c        shows what the model says now
 *     progress.c      tells the caller what happens
 *     ../train.c      tsr_train: calls these one after the other
 */
#ifndef TSRI_TRAIN_RUN_JOB_H
#define TSRI_TRAIN_RUN_JOB_H

#include "tessera/train.h"
#include "train/checkpoint/checkpoint.h"
#include "train/data/data.h"
#include "train/recipe/recipe.h"
#include "train/run/balance.h"
#include "train/run/log.h"
#include "train/run/teacher.h"

typedef struct tsri_train_job {
    const tsr_train_options *options;
    tsr_device *device;
    tsr_ranks *ranks; /* NULL: this process is alone, or makes a dry run */
    char *out;        /* the folder OUT; in a dry run, a temporary folder */
    int lock;         /* file descriptor of the lock that this run holds, or -1 */
    bool made;        /* OUT did not exist */
    bool failed;      /* a new run has failed before its first step */
    json_t *run;      /* what run.json holds */
    bool goes_on;     /* OUT held a run, which is resumed */
    tsri_train_settings settings;
    tsri_train_recipe *recipe; /* NULL: a model goes on learning, or a resumed run needs none */
    char *start;               /* folder of the model that the run began with */
    bool started;              /* `start` is OUT/start, made for this run */
    char *checkpoint;          /* folder that this run is resumed from; NULL: none */
    tsri_training_objective objective;
    tsr_model *model;
    tsri_train_companions companions; /* of `start`; none with LoRA */
    tsri_training *training;
    tsri_train_data *data, *evaluated; /* evaluated: data with other sizes of batches, or NULL */
    tsri_train_data *validation;       /* a view of one of them; NULL: there is none */
    tsri_train_teacher *teacher;
    tsri_train_frozen frozen; /* not of a dry run */
    tsri_train_log *log;
    tsri_train_balance *balance; /* NULL: the shards stay as they are dealt */
    tsr_train_plan plan;
    tsri_train_position at;
    int64_t steps;
    int64_t saved;   /* step of the last checkpoint; 0: none */
    bool told_stays; /* the caller was told of an old checkpoint that can't be removed */
    bool stop;       /* `progress` asked for it, perhaps on this rank alone */
    int asked;       /* what it returned then; 0: it did not ask on this rank */
    bool stopping;   /* all ranks know that one of them was asked, and do the same from here on */
    bool together;   /* all ranks end for the same reason, and know it */
    bool stopped;    /* by early stopping */
} tsri_train_job;

/* ---- run_json.c ---- */

/* Fills `run` and `settings` from the options, or from the run.json in OUT. */
tsr_status tsri_train_run_json(tsri_train_job *job);
tsr_status tsri_train_run_json_save(const tsri_train_job *job);
/* The texts of a list in run.json, as an array of borrowed strings in new memory. */
tsr_status tsri_train_run_json_list(const tsri_train_job *job, const char *key, const char ***list,
                                    size_t *n);
/* A text of run.json, or NULL. */
const char *tsri_train_run_json_text(const tsri_train_job *job, const char *key);
bool tsri_train_run_json_head_only(const tsri_train_job *job);
/* Opens the recipe that the run began with, unless it is open. */
tsr_status tsri_train_run_json_recipe(tsri_train_job *job);
/* "generate", "fill-mask", "translate", "classify". */
const char *tsri_train_task_name(tsri_training_objective objective);

/* ---- start_folder.c ---- */

/* The options to open data with; strings are borrowed from the job, the lists are to be freed. */
tsr_status tsri_train_data_asked(tsri_train_job *job, tsri_train_data_options *options);
void tsri_train_data_asked_free(tsri_train_data_options *options);
/* Sets the objective: the one asked for, or the one that fits the kind of model. Touches no disk.
 */
tsr_status tsri_train_objective(tsri_train_job *job);
/* Sets `start`, the folder to open, and makes it where that is needed. */
tsr_status tsri_train_start_folder(tsri_train_job *job);

/* ---- output.c ---- */

/* Whether OUT may be written: it does not exist, is empty, or holds a run that is to be resumed. */
tsr_status tsri_train_output_check(const tsri_train_job *job);
/* Sets `out`; in a dry run, to a temporary folder. */
tsr_status tsri_train_output_choose(tsri_train_job *job);
/* Makes OUT and its parent folders, and takes the lock that keeps a second run away. */
tsr_status tsri_train_output_take(tsri_train_job *job);
/* Leaves OUT as it was found, after a dry run or one that failed before its first step. */
void tsri_train_output_undo(const tsri_train_job *job);

/* ---- setup.c ---- */

tsr_status tsri_train_set_up(tsri_train_job *job);
void tsri_train_job_clear(tsri_train_job *job);

/* ---- loop.c, gradients.c, validation.c, sample.c ---- */

tsr_status tsri_train_loop(tsri_train_job *job);
/* The gradients of the next step, the mean loss of its batches, and the tokens that they have. *done
 * false: `progress` asked to stop before they were complete. */
tsr_status tsri_train_gradients(tsri_train_job *job, tsri_training_loss *loss, int64_t *tokens,
                                bool *done);
/* The most sequences that are learned from at once. */
int32_t tsri_train_rows(const tsri_train_job *job);
/* What a validation measures: the mean loss over the targets; a classifier's accuracy, of texts or of words; of labels
 * of words, the F1 of entities, where labels name any. NAN: not of this model. */
typedef struct tsri_train_measures {
    double loss, accuracy, f1;
} tsri_train_measures;
tsr_status tsri_train_validate(tsri_train_job *job, tsri_train_measures *out);
/* Warns of a prompt of samples that the tokenizer can't read, or not all of it. TSR_E_FORMAT: the tokenizer
 * refuses it. */
tsr_status tsri_train_check_prompt(tsri_train_job *job);
/* Appends a sample of what the model says; appends nothing where the model has no tokenizer. */
tsr_status tsri_train_sample(tsri_train_job *job, tsri_bytes *text);

/* ---- ranks.c: all ranks call these at the same place; a process that is alone succeeds ---- */

/* Whether this rank writes the files: rank 0, or a process that is alone. */
bool tsri_train_is_first(const tsri_train_job *job);
/* Whether there are enough shards for them, and without --balance, as many for each. */
tsr_status tsri_train_ranks_check(const tsri_train_job *job);
/* Whether they were asked for the same; then, whether they read the same data, weights and
 * teacher. */
tsr_status tsri_train_ranks_compare(const tsri_train_job *job);
tsr_status tsri_train_ranks_compare_state(const tsri_train_job *job);
/* Warns where their devices differ. */
tsr_status tsri_train_ranks_devices(tsri_train_job *job);
/* They take `start` and `checkpoint` from rank 0, and check that they all write to one folder. */
tsr_status tsri_train_ranks_start(tsri_train_job *job);
/* With --balance: rank 0 says how the shards are dealt. */
tsr_status tsri_train_ranks_dealt(tsri_train_job *job);
/* Between two steps, with --balance: deals the shards anew where that makes steps shorter, and says so. */
tsr_status tsri_train_ranks_balance(tsri_train_job *job);
/* `stop` and `stopping` become the `stop` of any rank, and `asked` that of the first which was asked. */
tsr_status tsri_train_ranks_agree(tsri_train_job *job);

/* ---- progress.c ---- */

/* Calls `progress`; true: the run is to stop. `event` needs no struct_size. */
bool tsri_train_tell(tsri_train_job *job, tsr_train_event event);
__attribute__((format(PRINTF, 3, 4))) void
tsri_train_say(tsri_train_job *job, tsr_train_event_kind kind, const char *format, ...);

#endif
