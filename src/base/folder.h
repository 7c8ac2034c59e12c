/* base/folder.h - what is done with folders: a new one is written beside its place and is there when
 * it is whole, renames last, files are copied whole.
 */
#ifndef TSRI_BASE_FOLDER_H
#define TSRI_BASE_FOLDER_H

#include "base/bytes.h"

#include <stdint.h>

/* Visits the names of a folder in the order of their bytes, without "." and "..". */
tsr_status tsri_base_folder_visit(const char *folder,
                                  tsr_status (*visit)(void *data, const char *name), void *data);
/* Removes the folder and the files in it; folders in it that hold anything stay. Nothing where
 * there is none. `first`, where not NULL, goes before all others. */
tsr_status tsri_base_folder_remove(const char *folder, const char *first);
/* Renames, and makes that last. */
tsr_status tsri_base_folder_rename(const char *from, const char *to);
/* An empty one: what stood there is removed. */
tsr_status tsri_base_folder_anew(const char *folder);
tsr_status tsri_base_folder_sync(const char *folder);

/* The folder that a path names, or lies in; new memory. */
tsr_status tsri_base_folder_of(const char *path, char **out);
/* TSR_E_IO where `folder` exists. */
tsr_status tsri_base_folder_check_free(const char *folder);
/* Makes a folder beside it; new memory. */
tsr_status tsri_base_folder_begin(const char *folder, char **temporary);
/* Renames it to `folder`, and makes that last; after a failure so far, or of that, removes it and
 * its files. Frees the name. Gives `status`, or what went wrong here. */
tsr_status tsri_base_folder_end(const char *folder, char **temporary, tsr_status status);

/* Size and SHA-256, read in pieces. */
tsr_status tsri_base_file_digest(const char *path, uint64_t *size, char hex[65]);
/* A copy, whole or not at all. */
tsr_status tsri_base_file_copy(const char *from, const char *to);
/* The same file under a second name, which replaces what had it; a copy where that can't be. */
tsr_status tsri_base_file_link(const char *from, const char *to);
/* The file of that name from one folder to the other, where it is. */
tsr_status tsri_base_folder_copy(const char *from, const char *name, const char *to);

#endif
