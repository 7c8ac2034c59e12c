/* Plugins that are compiled while the test runs, in a folder that is removed afterwards. */
#ifndef TEST_BACKEND_PLUGINS_H
#define TEST_BACKEND_PLUGINS_H

void plugins_begin(void); /* makes the folder; hides other backends' devices */
void plugins_end(void);
const char *plugins_folder(void); /* absolute */

/* Compiles plugins/fake.c with these macros ("-DABI=0") to <folder>/<file>; gives that path
 * (static; the last eight paths stay valid). */
const char *plugins_make(const char *file, const char *macros);

#endif
