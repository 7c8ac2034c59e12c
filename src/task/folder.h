/* task/folder.h - a model folder that is written beside its place, and is there when it is whole.
 */
#ifndef TSRI_TASK_FOLDER_H
#define TSRI_TASK_FOLDER_H

#include "tessera/status.h"

/* The folder that a model's path names, or lies in; new memory. */
tsr_status tsri_task_folder_of(const char *path, char **out);

/* TSR_E_IO where `folder` exists. */
tsr_status tsri_task_folder_check_free(const char *folder);
/* Makes a folder beside it; new memory. */
tsr_status tsri_task_folder_begin(const char *folder, char **temporary);
/* The file of that name from one folder to the other, where it is. */
tsr_status tsri_task_folder_copy(const char *from, const char *name, const char *to);
/* Renames it to `folder`; after a failure so far, or of that, removes it and its files. Frees the
 * name. Gives `status`, or what went wrong here. */
tsr_status tsri_task_folder_end(const char *folder, char **temporary, tsr_status status);

#endif
