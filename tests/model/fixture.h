/* tests/model/fixture.h - a device, a model on it, and golden files to compare with. */
#ifndef TESTS_MODEL_FIXTURE_H
#define TESTS_MODEL_FIXTURE_H

#include "backend/host.h"
#include "base/json.h"
#include "io/archive.h"
#include "model/session.h"

/* Golden files: the project's own, else those of TESSERA_SHARED. New memory; the test is skipped
 * where there are none. */
char *golden_folder(const char *name);

typedef struct fixture {
    tsri_backend_set *set;
    tsri_backend_device *device;
    tsri_run_context *run;
    tsri_model *model;
} fixture;

/* Skips the test where the lane takes few cases (TESSERA_TEST_CASES=smoke) and this golden model is
 * none of them. */
void fixture_few(const char *name);
/* selector "reference", or NULL: the default device; the test is skipped where that is the
 * reference. */
void fixture_device(fixture *fixture, const char *selector);
void fixture_model(fixture *fixture, const char *path, const tsri_model_options *options);
void fixture_close(fixture *fixture);

/* Every case and every greedy continuation of a golden model folder, within the tolerance that its
 * README derives. */
void compare_golden(const char *name, const char *file,
                    const char *selector); /* file: of the folder, or NULL: the folder */

#endif
