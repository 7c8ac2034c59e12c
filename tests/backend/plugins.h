/* Plugins compiled while the test runs, in a folder that is removed after it. */
#ifndef TEST_BACKEND_PLUGINS_H
#define TEST_BACKEND_PLUGINS_H

void plugins_begin(void); /* makes the folder; takes other backends' devices out of sight */
void plugins_end(void);
const char *plugins_folder(void); /* absolute */

/* Compiles plugins/fake.c with these macros ("-DABI=0") to <folder>/<file>; returns that path
 * (static, the last eight stay). */
const char *plugins_make(const char *file, const char *macros);

#endif
