/* tests/train/data_fixture.h - a folder for tests of data, files in it, and models that are opened
 * without a device. */
#ifndef TESTS_TRAIN_DATA_FIXTURE_H
#define TESTS_TRAIN_DATA_FIXTURE_H

#include "train/data/data.h"

#define DECODER TESSERA_SOURCE_DIR "/models/shakespeare"
#define TRANSLATOR TESSERA_SOURCE_DIR "/models/translate-de-en"
#define MASKED TESSERA_SOURCE_DIR "/tests/golden/encoders/masked"
#define CLASSIFIER TESSERA_SOURCE_DIR "/tests/golden/encoders/classify"

void data_begin(void); /* makes the folder */
void data_end(void);
const char *data_work(void); /* where token files lie */

/* Writes a file into the folder. Its path stays valid until seven more files were written. */
const char *data_file(const char *name, const char *text, size_t n);
tsr_model *data_model(const char *path);
/* Where one of these fails, the test fails. The default workspace is data_work(). */
tsri_train_data *data_open(tsr_model *model, tsri_train_data_options options);
tsri_training_batch data_batch(tsri_train_data *data, uint64_t index);
/* A checksum of all that a batch has. */
uint64_t data_sum(const tsri_training_batch *batch);
/* A text of n words in lines, no two of which are equal; the caller frees it. */
char *data_words(int n, size_t *size);

#endif
