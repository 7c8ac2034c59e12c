/* train/folder.h - what a run does with folders: whole copies, renames that survive a power cut,
 * removal.
 */
#ifndef TSRI_TRAIN_FOLDER_H
#define TSRI_TRAIN_FOLDER_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

/* Visits the names of a folder in the order of their bytes, without "." and "..". */
tsr_status tsri_train_folder_visit(const char *folder,
                                   tsr_status (*visit)(void *data, const char *name), void *data);
/* Removes the folder and the files in it; folders in it that hold anything stay. Nothing where
 * there is none. `first`, where not NULL, goes before all others. */
tsr_status tsri_train_folder_remove(const char *folder, const char *first);
/* Renames, and makes that last. */
tsr_status tsri_train_folder_rename(const char *from, const char *to);
/* An empty one: what stood there is removed. */
tsr_status tsri_train_folder_anew(const char *folder);
tsr_status tsri_train_folder_sync(const char *folder);

/* Size and SHA-256, read in pieces. */
tsr_status tsri_train_file_digest(const char *path, uint64_t *size, char hex[65]);
/* A copy, whole or not at all. */
tsr_status tsri_train_file_copy(const char *from, const char *to);
/* The same file under a second name, which replaces what had it; a copy where that can't be. */
tsr_status tsri_train_file_link(const char *from, const char *to);

/* Whether a file of a model's folder belongs to it beside its weights: config, tokenizer,
 * generation settings. */
bool tsri_train_file_accompanies(const char *name);

#endif
