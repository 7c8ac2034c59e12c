/* task/bench/start.c - times a process from its start to the first byte that it writes. */
#include "task/bench/bench.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/folder.h"
#include "base/memory.h"
#include "base/system/child.h"
#include "base/system/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where Tessera and drivers keep what they built: pocl, Mesa, NVIDIA, Intel. */
static const char *const caches[] = {"TESSERA_CACHE",   "POCL_CACHE_DIR", "MESA_SHADER_CACHE_DIR",
                                     "CUDA_CACHE_PATH", "NEO_CACHE_DIR",  NULL};
enum { CACHES = sizeof caches / sizeof *caches - 1 };

typedef struct start {
    const char **argv; /* ends with NULL */
    const char **env;  /* ends with NULL; from n_kept on it is `set` */
    size_t n_kept;
    char *folder;           /* of all caches; NULL: none yet */
    tsri_bytes set[CACHES]; /* NAME=folder */
    bool cold;              /* each run has an empty folder */
    uint64_t memory;
    tsri_task_identity identity;
    const tsr_bench_model *model; /* NULL: not known */
} start;

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *where) {
    (void)facts;
    (void)kind;
    (void)where;
    return remove(path);
}

static void remove_folder(start *s) {
    if (s->folder)
        nftw(s->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(s->folder);
    s->folder = NULL;
}

static tsr_status make_folder(start *s) {
    remove_folder(s);
    if (tsri_base_folder_temporary("tessera-start", &s->folder) != TSR_OK) {
        char why[256];
        snprintf(why, sizeof why, "%s", tsr_error_last());
        return tsri_base_fail(TSR_E_IO, "no folder for caches can be made: %s", why);
    }
    for (int i = 0; i < CACHES; i++) {
        s->set[i].size = 0;
        TRY(tsri_base_bytes_printf(&s->set[i], "%s=%s", caches[i], s->folder));
        s->env[s->n_kept + i] = s->set[i].data;
    }
    return TSR_OK;
}

static tsr_status once(void *data, double *seconds) {
    start *s = data;
    char bytes[4096];
    const tsri_system_command command = {.program = s->argv[0],
                                         .argv = s->argv,
                                         .env = s->env,
                                         .in = TSRI_SYSTEM_NOWHERE,
                                         .out = TSRI_SYSTEM_PIPED,
                                         .err = TSRI_SYSTEM_NOWHERE};
    tsri_system_child child;
    if (s->cold || !s->folder)
        TRY(make_folder(s));
    const uint64_t begun = tsri_base_now_ns();
    const int failed = tsri_system_child_start(&command, &child);
    if (failed)
        return tsri_base_fail(TSR_E_IO, "%s does not start: %s", s->argv[0], strerror(failed));
    ptrdiff_t n = tsri_system_child_read(&child, bytes, sizeof bytes);
    *seconds = (double)(tsri_base_now_ns() - begun) * 1e-9;
    const bool wrote = n > 0;
    while (n > 0)
        n = tsri_system_child_read(&child, bytes, sizeof bytes);
    tsri_system_child_close(&child);
    while (tsri_system_child_wait(&child, -1) == 0)
        continue;
    if (child.memory > s->memory)
        s->memory = child.memory;
    if (wrote && !child.signal && child.code == 0)
        return TSR_OK;
    return tsri_base_fail(TSR_E_DEVICE, "%s %s ended with %s %d%s", s->argv[0],
                          s->argv[1] ? s->argv[1] : "", child.signal ? "signal" : "code",
                          child.signal ? child.signal : child.code,
                          wrote ? "" : " and wrote nothing");
}

static tsr_status make_row(tsri_task_bench *b, start *s) {
    tsri_task_bench other = *b;
    tsri_task_draft draft;
    tsri_task_draft_begin(&draft, TSR_BENCH_START, "s", "%s start", s->cold ? "cold" : "warm");
    draft.row.scenario = TSR_BENCH_SINGLE_STREAM;
    draft.row.model = s->model;
    other.rule.cold = s->cold;
    if (s->cold) /* a cold start takes seconds */
        other.rule.least = other.rule.least < 3 ? other.rule.least : 3;
    tsr_status status = TSR_OK;
    if (tsri_task_bench_recall(b, &draft))
        status = tsri_task_bench_time(&other, &draft, 1, once, s);
    b->now = other.now;
    b->best = other.best;
    if (draft.row.host_bytes < s->memory || !draft.before)
        draft.row.host_bytes = s->memory;
    return tsri_task_bench_finish(b, &draft, status, "");
}

/* Where the model can't be read, the command ends with an error, which the rows tell. */
static void identify(start *s, const char *name) {
    tsr_model *model = NULL;
    if (tsr_model_open(name, NULL, NULL, &model) == TSR_OK &&
        tsri_task_identify(model, name, 0, NULL, &s->identity) == TSR_OK)
        s->model = &s->identity.model;
    tsr_model_close(&model);
}

tsr_status tsri_task_bench_starts(tsri_task_bench *b, const char *const *command, size_t n,
                                  const char *model) {
    start s = {.cold = true};
    tsr_status status = tsri_base_new(n + 1, sizeof *s.argv, &s.argv);
    for (size_t i = 0; i < n && status == TSR_OK; i++)
        s.argv[i] = command[i];
    if (status == TSR_OK && model)
        identify(&s, model);
    if (status == TSR_OK && !(s.env = tsri_system_environment(caches, CACHES, &s.n_kept)))
        status = tsri_base_fail(TSR_E_HOST_MEMORY, "out of host memory");
    if (status == TSR_OK)
        status = make_row(b, &s);
    s.cold = false; /* the caches of the last cold start are full */
    if (status == TSR_OK)
        status = make_row(b, &s);
    remove_folder(&s);
    for (int i = 0; i < CACHES; i++)
        tsri_base_bytes_clear(&s.set[i]);
    free(s.argv);
    free(s.env);
    return status;
}
