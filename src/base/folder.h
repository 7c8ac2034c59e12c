/* base/folder.h - folders: a new folder is written beside its place and appears there once it is
 * whole; renames survive a power cut; files are copied whole. */
#ifndef TSRI_BASE_FOLDER_H
#define TSRI_BASE_FOLDER_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

/* Visits the names of a folder in the order of their bytes, without "." and "..". */
tsr_status tsri_base_folder_visit(const char *folder,
                                  tsr_status (*visit)(void *data, const char *name), void *data);
/* The same for the files of a folder, and for those of the folders in it, as "folder/file". */
tsr_status tsri_base_folder_visit_files(const char *folder,
                                        tsr_status (*visit)(void *data, const char *name),
                                        void *data);
/* Makes the folder that a file is to lie in, where it is missing; not the ones above it. */
tsr_status tsri_base_folder_make_parent(const char *path);
/* Removes the folder, the files in it and those of the folders in it; deeper folders that are not
 * empty stay. Does nothing where there is no such folder. `first`, where it is not NULL, is removed
 * before all others. */
tsr_status tsri_base_folder_remove(const char *folder, const char *first);
/* Renames, and makes the rename survive a power cut. */
tsr_status tsri_base_folder_rename(const char *from, const char *to);
/* Makes an empty folder; removes what was there. */
tsr_status tsri_base_folder_anew(const char *folder);
tsr_status tsri_base_folder_sync(const char *folder);
/* Makes a new folder, whose name begins with `name`, in TMPDIR or else in /tmp; gives its path in new
 * memory, and NULL where that fails. */
tsr_status tsri_base_folder_temporary(const char *name, char **out);

/* The folder that a path names, or the folder that contains the file that it names; in new
 * memory. */
tsr_status tsri_base_folder_of(const char *path, char **out);
/* How long a folder's name is without the separators at its end. "/" has 1 character. check_free, begin and end
 * take names with and without them. */
size_t tsri_base_folder_length(const char *folder);
/* TSR_E_IO where `folder` exists. */
tsr_status tsri_base_folder_check_free(const char *folder);
/* Makes a temporary folder beside it and gives its name in new memory. */
tsr_status tsri_base_folder_begin(const char *folder, char **temporary);
/* Renames the temporary folder to `folder`, and makes that survive a power cut. Where `status` is a
 * failure, or this fails, removes it and what is in it. Frees the name. Returns `status`, or what went
 * wrong here. */
tsr_status tsri_base_folder_end(const char *folder, char **temporary, tsr_status status);

/* The size and the SHA-256 of a file, which is read in pieces. */
tsr_status tsri_base_file_digest(const char *path, uint64_t *size, char hex[65]);
/* Copies a file, whole or not at all. */
tsr_status tsri_base_file_copy(const char *from, const char *to);
/* Gives a file a second name, and replaces the file that had it; makes a copy where a link is not
 * possible. */
tsr_status tsri_base_file_link(const char *from, const char *to);
/* Copies the files that `takes` takes from one folder to the other, which is made where it is
 * missing; not the folders. A file that is there already stays. Does nothing where `from` is not a
 * folder. `takes` may be NULL: all. */
tsr_status tsri_base_folder_copy(const char *from, const char *to, bool (*takes)(const char *name));

#endif
