/* train/run/loop.c - runs the steps, and validations and checkpoints between them. */
#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "train/recipe/schedule.h"
#include "train/run/job.h"
#include "transport/ranks.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The result of a step. */
typedef struct outcome {
    tsri_training_loss loss; /* mean over its batches */
    double rate, norm;
    int64_t tokens;
} outcome;

/* The speed of this process: for the time left, and for the log's tokens per second. */
typedef struct pace {
    int64_t first;                 /* step that this process began with */
    double seconds;                /* spent in its steps */
    double waited;                 /* seconds of these in which it waited for other ranks */
    int64_t tokens_then;           /* tokens read at the last line of the log */
    double seconds_then, a_second; /* seconds at that line; tokens a second since */
    double waited_then, waiting;   /* waited at that line; share of the time since */
} pace;

/* Says for a message where the steps so far are kept. */
static void last_good(const tsri_train_job *job, char *text, size_t size) {
    if (job->saved > 0)
        snprintf(text, size, "the last good checkpoint is %.300s/checkpoint-%" PRId64, job->out,
                 job->saved);
    else
        snprintf(text, size, "there is no checkpoint yet");
}

static tsr_status fail_number(const tsri_train_job *job, const outcome *o, const char *culprit) {
    char kept[400], what[200];
    last_good(job, kept, sizeof kept);
    if (culprit)
        snprintf(what, sizeof what, "the gradient of %.96s is not a finite number", culprit);
    else
        snprintf(what, sizeof what, "the norm of the gradients is %g", o->norm);
    return tsri_base_fail(TSR_E_STATE,
                          "step %" PRId64 ": the loss is %g and %s; %s: start %s in a new folder, "
                          "with a lower learning_rate or max_grad_norm",
                          job->at.step + 1, o->loss.loss, what, kept,
                          job->saved > 0 ? "from there" : "again");
}

/* One update; *done false: the step was given up before it. */
static tsr_status step(tsri_train_job *job, outcome *o, bool *done) {
    const char *culprit = NULL;
    *o = (outcome){.rate = tsri_train_rate(&job->settings, job->at.step, job->steps)};
    *done = false;
    TRY(tsri_train_gradients(job, &o->loss, &o->tokens, done));
    if (!*done)
        return TSR_OK;
    TRY(tsri_training_norm(job->training, &o->norm, &culprit));
    if (culprit || !isfinite(o->norm) || !isfinite(o->loss.loss))
        return fail_number(job, o, culprit);
    return tsri_training_update(job->training, (uint64_t)job->at.step, o->rate,
                                tsri_train_clip(&job->settings, o->norm));
}

static bool learns_from_two(const tsri_train_job *job) {
    return *job->settings.kl_to || *job->settings.distill_from;
}

static tsr_status report(tsri_train_job *job, const outcome *o, pace *p) {
    const bool logged = job->at.step % job->settings.logging_steps == 0 ||
                        job->at.step == job->steps || job->at.step == 1;
    const double kl = learns_from_two(job) ? o->loss.kl : NAN, since = p->seconds - p->seconds_then;
    const int64_t made = job->at.step - p->first;
    if (since > 0) {
        p->a_second = (double)(job->at.tokens - p->tokens_then) / since;
        p->waiting = job->ranks ? (p->waited - p->waited_then) / since : NAN;
    }
    (void)tsri_train_tell(job,
                          (tsr_train_event){.kind = TSR_TRAIN_STEP,
                                            .step = (uint64_t)job->at.step,
                                            .steps = (uint64_t)job->steps,
                                            .loss = o->loss.loss,
                                            .kl = kl,
                                            .learning_rate = o->rate,
                                            .grad_norm = o->norm,
                                            .tokens_per_second = p->a_second,
                                            .seconds = job->at.seconds,
                                            .seconds_left = p->seconds / (double)made *
                                                            (double)(job->steps - job->at.step),
                                            .tokens = (uint64_t)job->at.tokens,
                                            .logged = logged,
                                            .waiting = p->waiting});
    if (!logged || !job->log)
        return TSR_OK;
    p->tokens_then = job->at.tokens;
    p->seconds_then = p->seconds;
    p->waited_then = p->waited;
    json_t *line = json_pack("{s:I,s:f,s:f,s:f,s:I,s:f,s:f}", "step", (json_int_t)job->at.step,
                             "loss", o->loss.loss, "lr", o->rate, "grad_norm", o->norm, "tokens",
                             (json_int_t)job->at.tokens, "tokens_per_second", p->a_second,
                             "seconds", job->at.seconds);
    if (line && isfinite(kl))
        tsri_base_json_put(line, "kl", json_real(kl));
    if (line && job->ranks)
        tsri_base_json_put(line, "waiting", json_real(p->waiting));
    return tsri_train_log_write(job->log, line);
}

/* ---- between steps ---- */

/* Whether work that is done every `period` steps is due; it also is at the end. */
static bool due(const tsri_train_job *job, int64_t period) {
    return job->at.step > 0 && (job->at.step == job->steps || job->stopped ||
                                (period > 0 && job->at.step % period == 0));
}

static tsr_status validate(tsri_train_job *job) {
    tsri_train_position *at = &job->at;
    tsri_train_measures m;
    tsri_bytes sample = {0};
    tsr_status status = tsri_train_validate(job, &m);
    if (status != TSR_OK || job->stop)
        return status;
    const int metric = job->settings.metric_for_best_model;
    const double value = metric == TSRI_METRIC_F1         ? m.f1
                         : metric == TSRI_METRIC_ACCURACY ? m.accuracy
                                                          : m.loss;
    const bool best =
        isnan(at->best) || (metric == TSRI_METRIC_LOSS ? value < at->best : value > at->best);
    at->eval_loss = m.loss;
    at->eval_step = at->step;
    at->without_better = best ? 0 : at->without_better + 1;
    if (best) {
        at->best = value;
        at->best_step = at->step;
    }
    status = tsri_train_is_first(job) ? tsri_train_sample(job, &sample) : TSR_OK;
    const char *text = sample.data ? sample.data : "";
    if (status == TSR_OK && !isfinite(m.loss))
        status = tsri_base_fail(TSR_E_STATE, "step %" PRId64 ": the loss of the validation is %g",
                                at->step, m.loss);
    if (status == TSR_OK && job->log) {
        json_t *line = json_pack("{s:I,s:f,s:s}", "step", (json_int_t)at->step, "eval_loss", m.loss,
                                 "sample", text);
        if (line && isfinite(m.accuracy))
            tsri_base_json_put(line, "eval_accuracy", json_real(m.accuracy));
        if (line && isfinite(m.f1))
            tsri_base_json_put(line, "eval_f1", json_real(m.f1));
        status = tsri_train_log_write(job->log, line);
    }
    (void)tsri_train_tell(job, (tsr_train_event){.kind = TSR_TRAIN_EVALUATED,
                                                 .step = (uint64_t)at->step,
                                                 .steps = (uint64_t)job->steps,
                                                 .eval_loss = m.loss,
                                                 .eval_accuracy = m.accuracy,
                                                 .eval_f1 = m.f1,
                                                 .best = best,
                                                 .text = text});
    tsri_base_bytes_clear(&sample);
    return status;
}

/* All ranks write it. */
static tsr_status write_checkpoint(tsri_train_job *job) {
    const tsri_train_kept kept = {.training = job->training,
                                  .ranks = job->ranks,
                                  .out = job->out,
                                  .companions = &job->companions,
                                  .base = tsri_train_run_json_text(job, "model"),
                                  .settings = &job->settings,
                                  .identity = tsri_train_data_identity(job->data),
                                  .frozen = &job->frozen};
    char last[400];
    last_good(job, last, sizeof last);
    tsr_status status = tsri_training_complete_values(job->training);
    if (status == TSR_OK && job->log)
        status = tsri_train_log_sync(job->log);
    if (status == TSR_OK)
        status = tsri_train_checkpoint_write(&kept, &job->at);
    if (status != TSR_OK)
        return tsri_base_fail_within(status, "step %" PRId64 " could not be saved (%s)",
                                     job->at.step, last);
    job->saved = job->at.step;
    return TSR_OK;
}

static tsr_status save_checkpoint(tsri_train_job *job) {
    TRY(write_checkpoint(job));
    if (!tsri_train_is_first(job))
        return TSR_OK;
    char *path = tsri_train_checkpoint_path(job->out, job->at.step);
    (void)tsri_train_tell(job, (tsr_train_event){.kind = TSR_TRAIN_SAVED,
                                                 .step = (uint64_t)job->at.step,
                                                 .steps = (uint64_t)job->steps,
                                                 .text = path ? path : ""});
    free(path);
    const tsr_status status =
        tsri_train_checkpoint_prune(job->out, job->settings.save_total_limit, job->at.best_step);
    if (status != TSR_E_IO) /* a checkpoint that could not be removed does not stop the run */
        return status;
    if (!job->told_stays)
        tsri_train_say(job, TSR_TRAIN_WARNING, "%s: an old checkpoint is left where it is",
                       tsri_base_reported());
    job->told_stays = true;
    return TSR_OK;
}

/* Validates and saves where that is due; *worked: it was. */
static tsr_status between(tsri_train_job *job, bool *worked) {
    const tsri_train_settings *s = &job->settings;
    const int64_t eval_steps = s->eval_steps ? s->eval_steps : s->save_steps;
    *worked = job->validation && due(job, eval_steps) && job->at.eval_step != job->at.step;
    if (*worked)
        TRY(validate(job));
    job->stopped =
        s->early_stopping_patience > 0 && job->at.without_better >= s->early_stopping_patience;
    const bool best = tsri_train_settings_keep_best(s) && job->at.best_step == job->at.step;
    const bool wanted = due(job, s->save_steps) || ((job->stopping || best) && job->at.step > 0);
    if (!wanted || job->saved == job->at.step)
        return TSR_OK;
    *worked = true;
    return save_checkpoint(job);
}

static tsr_status cancelled(tsri_train_job *job) {
    TRY(tsri_ranks_barrier(job->ranks));
    job->together = true;
    if (job->at.step == 0)
        return tsri_base_fail(TSR_E_CANCELLED, "stopped before the first step");
    return tsri_base_fail(TSR_E_CANCELLED,
                          "stopped at step %" PRId64 " of %" PRId64 "; %s/checkpoint-%" PRId64
                          " has all of them, and --resume goes on from it",
                          job->at.step, job->steps, job->out, job->saved);
}

/* Adds what a step took: its own time, and that of the exchange before it. */
static void add_time(tsri_train_job *job, pace *p, uint64_t ns, uint64_t waited_ns) {
    p->seconds += (double)ns * 1e-9;
    p->waited += (double)waited_ns * 1e-9;
    job->at.seconds += (double)ns * 1e-9;
}

tsr_status tsri_train_loop(tsri_train_job *job) {
    pace p = {.first = job->at.step, .tokens_then = job->at.tokens};
    for (;;) {
        outcome o;
        bool done, worked;
        const uint64_t agreeing = tsri_base_now_ns();
        TRY(tsri_train_ranks_agree(job));
        const uint64_t agreed = tsri_base_now_ns() - agreeing;
        TRY(between(job, &worked));
        if (job->stopping)
            return cancelled(job);
        if (worked) /* it may have taken long, and one rank may have been asked to stop meanwhile */
            TRY(tsri_train_ranks_agree(job));
        if (job->stopping)
            continue;
        if (job->at.step >= job->steps || job->stopped)
            return TSR_OK;
        const uint64_t begun = tsri_base_now_ns(), waited = tsri_ranks_waited_ns(job->ranks);
        TRY(step(job, &o, &done));
        if (!done)
            continue;
        add_time(job, &p, agreed + tsri_base_now_ns() - begun,
                 agreed + tsri_ranks_waited_ns(job->ranks) - waited);
        job->at.tokens += o.tokens;
        job->at.loss = o.loss.loss;
        job->at.step++;
        TRY(report(job, &o, &p));
        TRY(tsri_train_ranks_balance(job));
    }
}
