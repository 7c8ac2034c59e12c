/* A temporary folder of a test. */
#ifndef TEST_SUPPORT_FOLDER_H
#define TEST_SUPPORT_FOLDER_H

/* Makes an empty folder and writes its path. */
void folder_make(char path[64]);
/* Removes the folder and all that is in it. */
void folder_drop(const char *path);

#endif
