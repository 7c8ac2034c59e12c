/* model/load/cache_place.h - what the file of a cache (cache_*.c) has to give, and what such files have in
 * common. */
#ifndef TSRI_MODEL_LOAD_CACHE_PLACE_H
#define TSRI_MODEL_LOAD_CACHE_PLACE_H

#include "base/error.h"
#include "tessera/model.h"

#include <stdbool.h>
#include <stddef.h>

/* A name: repository[@revision][:tag]. A tag is a quantisation (Q4_K_M), or what Ollama calls so. */
typedef struct tsri_model_asked {
    const char *repository;     /* "name", "org/name" or "host/org/name" */
    const char *revision, *tag; /* NULL: not given */
} tsri_model_asked;
/* Takes a name apart; `copy` has it, and is memory for its parts. */
tsri_model_asked tsri_model_asked_of(char *copy);
/* Puts into `command` what downloads a model by its name of Hugging Face's hub. */
void tsri_model_hub_command(const char *name, char *command, size_t room);
/* Adds the command that downloads what is missing to the sentence of the failure that just happened,
 * and returns `status`. */
tsr_status tsri_model_tell_command(tsr_status status, const char *command);

/* Told of each model of a cache; its size is not set. */
typedef struct tsri_model_visit {
    void (*each)(void *data, const tsr_model_found *model);
    void *data;
    const char *place;
} tsri_model_visit;
/* Calls visit->each for a model whose name is one of Hugging Face's hub. */
void tsri_model_visit_hub(const tsri_model_visit *visit, const char *name, const char *path);

typedef struct tsri_model_place {
    const char *name;
    bool is_hub; /* its names are those of Hugging Face's hub */
    /* The folder, in new memory; NULL: the user has none. */
    char *(*folder)(void);
    /* The model's path, in new memory; *path stays NULL where the folder doesn't have it. */
    tsr_status (*find)(const char *folder, const tsri_model_asked *asked, char **path);
    tsr_status (*list)(const char *folder, const tsri_model_visit *visit);
} tsri_model_place;

extern const tsri_model_place tsri_model_hugging_face, tsri_model_llama_cpp, tsri_model_ollama,
    tsri_model_ollama_service;

/* The first failure of the places that were searched. It counts only where none of them has the
 * model. */
typedef struct tsri_model_put_off {
    tsr_status status; /* TSR_OK: nothing failed */
    tsri_base_kept why;
} tsri_model_put_off;
/* Keeps the failure of a place whose files are missing or damaged (TSR_E_IO, TSR_E_FORMAT), and
 * returns TSR_OK: the next place may have the model. Other failures are returned. */
tsr_status tsri_model_put_failure_off(tsr_status status, tsri_model_put_off *first);
/* Reports the failure that was kept and returns its status. */
tsr_status tsri_model_fail_now(const tsri_model_put_off *first);

/* The first of n folders whose root is given, in new memory. */
typedef struct tsri_model_root {
    const char *root, *below; /* below may be NULL */
} tsri_model_root;
char *tsri_model_first_root(const tsri_model_root *roots, size_t n);
/* Calls each with the names in a folder, in order, but for those that begin with a dot. */
tsr_status tsri_model_each_entry(const char *folder,
                                 tsr_status (*each)(void *data, const char *folder,
                                                    const char *name),
                                 void *data);

#endif
