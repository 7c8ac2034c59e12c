/* tests/model/fixture.h - a device, a model on it, and golden files to compare with. */
#ifndef TESTS_MODEL_FIXTURE_H
#define TESTS_MODEL_FIXTURE_H

#include "backend/host.h"
#include "base/json.h"
#include "io/archive.h"
#include "model/session/session.h"

/* Folder `which` of a golden model: 0 is the project's own (tests/golden/models), 1 the larger one
 * of that name (support/larger.h). New memory; NULL past the last. */
char *golden_folder(const char *name, int which);

typedef struct fixture {
    tsri_backend_set *set;
    tsri_backend_device *device;
    tsri_run_context *run;
    tsri_model *model;
} fixture;

/* Skips the test if not all cases are wanted (support/cases.h) and this golden model is not one of
 * the chosen few. */
void fixture_few(const char *name);
/* selector: "reference", or NULL for the default device; the test is skipped if that is the
 * reference. */
void fixture_device(fixture *fixture, const char *selector);
void fixture_model(fixture *fixture, const char *path, const tsri_model_options *options);
void fixture_close(fixture *fixture);

/* Every case and every greedy continuation of a golden model, and of the larger one if `file` is
 * NULL, within the tolerance of compare.c. */
void compare_golden(const char *name, const char *file,
                    const char *selector); /* file: a file of the folder, or NULL: the folder */

#endif
