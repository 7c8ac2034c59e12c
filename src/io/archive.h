/* io/archive.h - a model file, or the files of a folder, as a set of named arrays and key/value
 * metadata.
 *
 * Every rule of the format is checked by open, before memory is taken for what a header merely
 * claims; the data itself is read only by tsri_io_read. Names, dims and bytes of an opened archive
 * can be trusted to lie in its files. */
#ifndef TSRI_IO_ARCHIVE_H
#define TSRI_IO_ARCHIVE_H

#include "base/files.h"
#include "tessera/tensor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tsri_io_format {
    TSRI_IO_UNKNOWN = 0,
    TSRI_IO_FOLDER,      /* has config.json or safetensors weights: Hugging Face's layout */
    TSRI_IO_SAFETENSORS, /* one .safetensors file */
    TSRI_IO_INDEX,       /* model.safetensors.index.json and its shards */
    TSRI_IO_GGUF,
    TSRI_IO_LLAMA2C,     /* llama2.c checkpoint, legacy or "ak42" (whose version 2 open refuses) */
    TSRI_IO_CTRANSLATE2, /* model.bin of CTranslate2 */
    TSRI_IO_PICKLE,   /* PyTorch's pickle or zip: open refuses it and names tools/convert-torch */
    TSRI_IO_OLD_GGML, /* ggml, ggmf, ggjt, ggla: open refuses it */
    TSRI_IO_RANDOM    /* no file: numbers made when they are read (tsri_io_random) */
} tsri_io_format;

enum { TSRI_IO_MAX_RANK = 8 };

/* One array. dims are row-major, slowest first (GGUF's order is reversed on the way in). */
typedef struct tsri_io_array {
    const char *name;
    const char *type_name; /* as the format spells it: "F32", "BF16", "q4_K" */
    tsr_dtype dtype;       /* TSR_DTYPE_NONE: one that Tessera does not know, nor reads */
    int rank;
    int64_t dims[TSRI_IO_MAX_RANK];
    uint64_t elements; /* product of dims: 1 for rank 0, 0 where a dim is 0 */
    size_t file;       /* index into archive->files */
    uint64_t offset;   /* of its first byte in that file */
    uint64_t bytes;
    /* Integers that stand for numbers: each divided by the f32 of its row, or by the only one.
     * 0 divisors: the elements are the numbers. */
    uint64_t divisors, n_divisors; /* offset in the file, and how many */
} tsri_io_array;

/* Kinds of a metadata value: every integer width is INT (an unsigned one above INT64_MAX reads as
 * INT64_MAX), both float widths are REAL. */
typedef enum tsri_io_kind {
    TSRI_IO_INT = 1,
    TSRI_IO_REAL,
    TSRI_IO_BOOL,
    TSRI_IO_TEXT,
    TSRI_IO_LIST
} tsri_io_kind;

typedef struct tsri_io_value tsri_io_value;

typedef struct tsri_io_archive {
    char *path;            /* as it was given to open */
    tsri_io_format format; /* SAFETENSORS, INDEX, GGUF, LLAMA2C, CTRANSLATE2 or RANDOM */
    tsri_file **files;
    size_t n_files;
    tsri_io_array *arrays; /* in the files' order */
    size_t n_arrays;
    tsri_io_value *values; /* metadata, in the file's order */
    size_t n_values;
    size_t *by_name, *by_key; /* indices into arrays and values, sorted by name and by key */
    size_t files_room, arrays_room, values_room;
    bool forget; /* its pages are dropped from the system's cache once read: it is large */
} tsri_io_archive;

/* What lies at `path`, by content. TSR_E_IO where nothing can be read there; UNKNOWN is TSR_OK. */
tsr_status tsri_io_detect(const char *path, tsri_io_format *out);

/* Opens a safetensors file, an index, a GGUF file, a llama2.c checkpoint, a CTranslate2 model.bin,
 * or the weights of a folder (model.safetensors, else model.safetensors.index.json, else a
 * CTranslate2 model.bin). A folder or file of any other kind is refused with what to do about it.
 * Symbolic links are followed; names inside an index may not leave its folder.
 *
 * GGUF         names and metadata keys are the file's own ("blk.0.attn_q.weight",
 *              "llama.block_count"). Of a split model all parts are opened, whichever is named; the
 *              metadata is the first part's.
 * safetensors  metadata is __metadata__: every value TEXT.
 * llama2.c     arrays carry Hugging Face's names ("model.embed_tokens.weight",
 *              "model.layers.0.self_attn.q_proj.weight", "model.norm.weight", and "lm_head.weight"
 *              only where the classifier is its own), all F32. The rows of q and k are in
 *              INTERLEAVED rotary order (pairs 2i, 2i+1), unlike Hugging Face's (i, i + D/2).
 *              Metadata, INT: "dim" "hidden_dim" "n_layers" "n_heads" "n_kv_heads" "vocab_size"
 *              "seq_len" "version" (0 legacy, or 1); BOOL: "shared_classifier".
 * CTranslate2  the parts of a name stand between dots, its end is ".weight" or ".bias":
 *              "encoder.layer_0.self_attention.layer_norm.weight", "encoder.embeddings_0.weight",
 *              "decoder.position_encodings.weight". Aliases are arrays at the same offset. int8 and
 *              int16 weights have their scale as `divisors`. Single numbers and texts are metadata
 *              under the file's own names ("decoder/num_heads"), with TEXT "spec" and INT
 *              "revision", "binary_version".
 *
 * owner   the caller: tsri_io_close
 * thread  an opened archive is read-only: any number of threads may read it
 * error   TSR_E_IO           it, or a part of it, is missing or cannot be read
 *         TSR_E_FORMAT       it breaks its format's rules
 *         TSR_E_UNSUPPORTED  a kind that is not read
 */
tsr_status tsri_io_open(const char *path, tsri_io_archive **out);
void tsri_io_close(tsri_io_archive **archive);

/* Arrays of f32 that no file holds: matrices [dims[0], dims[1]] of random numbers, the same for the
 * same list; vectors (dims[1] is 0) of 1, of 0 where the name ends with ".bias". The names are
 * copied; `name` stands for the file in sentences. */
typedef struct tsri_io_random_array {
    char name[64];
    int64_t dims[2];
} tsri_io_random_array;
tsr_status tsri_io_random(const char *name, const tsri_io_random_array *list, size_t n,
                          tsri_io_archive **out);

/* NULL where there is none of that name. */
const tsri_io_array *tsri_io_find(const tsri_io_archive *archive, const char *name);

/* n bytes of an array from its byte `first`, as stored, into the caller's memory. Of a model that
 * is large for this machine, the system is told that the source pages are not needed again.
 *
 * error   TSR_E_UNSUPPORTED  a dtype that Tessera does not know
 *         TSR_E_ARGUMENT     beyond the array
 *         TSR_E_IO           the file shrank
 */
tsr_status tsri_io_read(const tsri_io_archive *archive, const tsri_io_array *array, uint64_t first,
                        size_t n, void *out);

/* The same in elements, converted to `to` (f32, f16, bf16, ...; see tensor/convert.h), divided by
 * the array's divisors (a divisor that is not positive and finite is TSR_E_FORMAT). For block
 * types `first` and n are multiples of the block size (whole rows always are); an infinite or NaN
 * scale in a block is TSR_E_FORMAT. */
tsr_status tsri_io_read_as(const tsri_io_archive *archive, const tsri_io_array *array, tsr_dtype to,
                           uint64_t first, size_t n, void *out);

/* Metadata. The value under a key, or NULL. */
const tsri_io_value *tsri_io_meta(const tsri_io_archive *archive, const char *key);

/* Typed values by key. A missing key leaves *out alone and is TSR_OK; another kind, or a number out
 * of [lowest, highest], is TSR_E_FORMAT naming the file and the key. A REAL may be stored as an
 * integer. Text is borrowed from the archive, ends with a 0 byte, and may hold others: `length`
 * (may be NULL) counts them. */
tsr_status tsri_io_meta_int(const tsri_io_archive *archive, const char *key, int64_t lowest,
                            int64_t highest, int64_t *out);
tsr_status tsri_io_meta_real(const tsri_io_archive *archive, const char *key, double lowest,
                             double highest, double *out);
tsr_status tsri_io_meta_bool(const tsri_io_archive *archive, const char *key, bool *out);
tsr_status tsri_io_meta_text(const tsri_io_archive *archive, const char *key, const char **out,
                             size_t *length);
/* A list whose items are all of `kind`; *out is NULL where the key is missing. */
tsr_status tsri_io_meta_list(const tsri_io_archive *archive, const char *key, tsri_io_kind kind,
                             const tsri_io_value **out);

/* Of a value: its key, kind; of a list: the items' kind (0 for an empty list of unknown kind) and
 * their number. */
const char *tsri_io_value_key(const tsri_io_value *value);
tsri_io_kind tsri_io_value_kind(const tsri_io_value *value);
tsri_io_kind tsri_io_list_kind(const tsri_io_value *list);
size_t tsri_io_list_count(const tsri_io_value *list);
/* Items of a list that tsri_io_meta_list gave for that kind; i < count. Integers serve list_real
 * too. */
int64_t tsri_io_list_int(const tsri_io_value *list, size_t i);
double tsri_io_list_real(const tsri_io_value *list, size_t i);
bool tsri_io_list_bool(const tsri_io_value *list, size_t i);
const char *tsri_io_list_text(const tsri_io_value *list, size_t i, size_t *length);

#endif
