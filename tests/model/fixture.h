/* tests/model/fixture.h - a device, a model on it, and golden files to compare with. */
#ifndef TESTS_MODEL_FIXTURE_H
#define TESTS_MODEL_FIXTURE_H

#include "backend/host.h"
#include "base/json.h"
#include "io/archive.h"
#include "model/session/session.h"

/* Folder `which` of a golden model: 0, the project's own (tests/golden/models); 1, the larger one of
 * that name (support/larger.h). New memory; NULL behind the last. */
char *golden_folder(const char *name, int which);

typedef struct fixture {
    tsri_backend_set *set;
    tsri_backend_device *device;
    tsri_run_context *run;
    tsri_model *model;
} fixture;

/* Skips the test where not all cases are wanted (support/cases.h) and this golden model is not one
 * of a kind. */
void fixture_few(const char *name);
/* selector "reference", or NULL: the default device; the test is skipped where that is the
 * reference. */
void fixture_device(fixture *fixture, const char *selector);
void fixture_model(fixture *fixture, const char *path, const tsri_model_options *options);
void fixture_close(fixture *fixture);

/* Every case and every greedy continuation of a golden model, also of the larger one where `file` is
 * NULL, within the tolerance of compare.c. */
void compare_golden(const char *name, const char *file,
                    const char *selector); /* file: of the folder, or NULL: the folder */

#endif
