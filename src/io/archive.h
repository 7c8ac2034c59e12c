/* io/archive.h - a model file, or the files of a folder, as a set of named arrays and key/value
 * metadata.
 *
 * Open checks every rule of the format before it allocates what a header merely claims; only
 * tsri_io_read reads the data itself. Names, dims and bytes of an open archive are sure to lie
 * within its files. */
#ifndef TSRI_IO_ARCHIVE_H
#define TSRI_IO_ARCHIVE_H

#include "base/files.h"
#include "base/hash.h"
#include "tessera/tensor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tsri_io_format {
    TSRI_IO_UNKNOWN = 0,
    /* A folder with config.json or safetensors weights: Hugging Face's layout */
    TSRI_IO_FOLDER,
    TSRI_IO_SAFETENSORS, /* one .safetensors file */
    TSRI_IO_INDEX,       /* model.safetensors.index.json and its shards */
    TSRI_IO_GGUF,
    /* A llama2.c checkpoint, legacy or "ak42" (open refuses version 2 of it) */
    TSRI_IO_LLAMA2C,
    TSRI_IO_CTRANSLATE2, /* model.bin of CTranslate2 */
    TSRI_IO_PICKLE,   /* PyTorch's pickle or zip; open refuses it and names tools/convert-torch */
    TSRI_IO_OLD_GGML, /* ggml, ggmf, ggjt, ggla; open refuses it */
    TSRI_IO_RANDOM    /* no file: numbers are made when they are read (tsri_io_random) */
} tsri_io_format;

enum { TSRI_IO_MAX_RANK = 8 };

typedef struct tsri_io_array tsri_io_array;
typedef struct tsri_io_archive tsri_io_archive;

/* How the rows of a matrix are made that the files hold in another form. One allocation, which may be
 * larger than this: the archive owns it and frees it. */
typedef struct tsri_io_made {
    /* Writes n rows from row `first` on, as f32; or, if the array's dtype is a block type, as that. Any
     * number of threads may call it. */
    tsr_status (*rows)(const struct tsri_io_made *made, const tsri_io_archive *archive,
                       const tsri_io_array *array, tsr_dtype to, int64_t first, int64_t n,
                       void *out);
    uint64_t stored; /* bytes of the files that the matrix is made from */
} tsri_io_made;

/* One array. dims are row-major, slowest first (GGUF's order is reversed when it is read). */
struct tsri_io_array {
    const char *name;
    const char *type_name; /* as the format calls it: "F32", "BF16", "q4_K" */
    tsr_dtype dtype;       /* TSR_DTYPE_NONE: a dtype that Tessera does not know and cannot read */
    int rank;
    int64_t dims[TSRI_IO_MAX_RANK];
    uint64_t elements; /* the product of dims: 1 for rank 0, 0 where a dim is 0 */
    size_t file;       /* index into archive->files */
    uint64_t offset;   /* of its first byte in that file */
    uint64_t bytes;
    /* Of an array of integers that stand for numbers: each is divided by the f32 of its row, or by
     * the only f32. Without divisors the elements are the numbers. */
    uint64_t divisors, n_divisors; /* their offset in the file, and how many */
    /* Blocks of mxfp4 as Hugging Face has them: the 16 bytes of a block, two adjacent codes each, lie at
     * `offset`, and the exponents of all blocks at this offset of another file. `bytes` are those of
     * GGUF's blocks, which tsri_io_read makes of them. */
    bool split;
    size_t exponents_file;
    uint64_t exponents;
    /* Not NULL: a matrix [rows, columns] that is made when it is read. `bytes` are those of all its
     * rows in the array's dtype; file and offset are those of one of the arrays that it is made from. */
    tsri_io_made *made;
    bool spare; /* it holds only zeros, and a model that does not read it is served without it */
};

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

struct tsri_io_archive {
    char *path;            /* as given to open */
    tsri_io_format format; /* SAFETENSORS, INDEX, GGUF, LLAMA2C, CTRANSLATE2 or RANDOM */
    tsri_file **files;
    size_t n_files;
    tsri_io_array *arrays; /* in the files' order */
    size_t n_arrays;
    tsri_io_value *values; /* metadata, in the file's order */
    size_t n_values;
    size_t *by_name, *by_key; /* indices into arrays and values, sorted by name and by key */
    size_t files_room, arrays_room, values_room;
    /* 1: the model is large, so its pages are dropped from the system's cache once they are read */
    bool forget;
};

/* Tells the format of what is at `path`, by its content. TSR_E_IO where nothing can be read there;
 * for an unknown format it is TSR_OK, with UNKNOWN. */
tsr_status tsri_io_detect(const char *path, tsri_io_format *out);
/* Whether a folder has a file of weights, by its name; GGUF files don't count. */
bool tsri_io_has_weights(const char *folder);
/* Whether a GGUF file has adapters (general.type) and no model; reads only its first keys. */
bool tsri_io_is_adapter(const char *path);

/* Opens a safetensors file, an index, a GGUF file, a llama2.c checkpoint, a CTranslate2 model.bin,
 * or the weights of a folder (model.safetensors, else model.safetensors.index.json, else a
 * CTranslate2 model.bin). A folder or file of any other kind is refused by a sentence that says
 * what to do. Symbolic links are followed; a name in an index must be in the index's folder.
 *
 * GGUF         names and metadata keys are the file's own ("blk.0.attn_q.weight",
 *              "llama.block_count"). All parts of a split model are opened, whichever part `path`
 *              names; the metadata is that of the first part.
 * safetensors  metadata is __metadata__; each value is a TEXT.
 * llama2.c     arrays have Hugging Face's names ("model.embed_tokens.weight",
 *              "model.layers.0.self_attn.q_proj.weight", "model.norm.weight", and "lm_head.weight"
 *              only where the model has a classifier of its own), all F32. The rows of q and k are
 *              in INTERLEAVED rotary order (pairs 2i, 2i+1), unlike Hugging Face's (i, i + D/2).
 *              Metadata, INT: "dim" "hidden_dim" "n_layers" "n_heads" "n_kv_heads" "vocab_size"
 *              "seq_len" "version" (0 legacy, or 1); BOOL: "shared_classifier".
 * CTranslate2  the parts of a name are separated by dots, and it ends in ".weight" or ".bias":
 *              "encoder.layer_0.self_attention.layer_norm.weight", "encoder.embeddings_0.weight",
 *              "decoder.position_encodings.weight". Aliases are arrays at the same offset. int8 and
 *              int16 weights have their scale as `divisors`. Single numbers and texts are metadata
 *              under the file's own names ("decoder/num_heads"), with TEXT "spec" and INT
 *              "revision", "binary_version".
 *
 * owner   the caller closes *out with tsri_io_close
 * thread  any number of threads may read an open archive
 * error   TSR_E_IO           the path, or a part of the model, is missing or cannot be read
 *         TSR_E_FORMAT       a file breaks its format
 *         TSR_E_UNSUPPORTED  a kind of model that is not read
 */
tsr_status tsri_io_open(const char *path, tsri_io_archive **out);
void tsri_io_close(tsri_io_archive **archive);

/* Makes an archive of f32 arrays without a file: matrices [dims[0], dims[1]] of random numbers, the
 * same for the same list; vectors (dims[1] is 0) of 1, or of 0 where the name ends in ".bias". The
 * names are copied; `name` stands for the file in error sentences. */
typedef struct tsri_io_random_array {
    char name[64];
    int64_t dims[2];
} tsri_io_random_array;
tsr_status tsri_io_random(const char *name, const tsri_io_random_array *list, size_t n,
                          tsri_io_archive **out);

/* Finds an array by its name; NULL where there is none. */
const tsri_io_array *tsri_io_find(const tsri_io_archive *archive, const char *name);

/* Gives an array another name (n bytes, copied) and removes the arrays whose `gone` (by array) is set, for
 * readers of matrices that are made of several arrays. Pointers to arrays are no longer valid after
 * tsri_io_remove; TSR_E_FORMAT where a name occurs twice then. */
tsr_status tsri_io_rename(tsri_io_archive *archive, size_t index, const char *name, size_t n);
tsr_status tsri_io_remove(tsri_io_archive *archive, const bool *gone);

/* Reads n bytes of an array, as stored, from its byte `first` on, into the caller's memory. Where
 * the model is large for this machine, the system is told that these pages are not needed again.
 *
 * error   TSR_E_UNSUPPORTED  Tessera does not know the dtype
 *         TSR_E_ARGUMENT     the array has no such bytes
 *         TSR_E_IO           the file has become shorter
 */
tsr_status tsri_io_read(const tsri_io_archive *archive, const tsri_io_array *array, uint64_t first,
                        size_t n, void *out);

/* Reads n elements from element `first` on, divided by the array's divisors and converted to `to`
 * (f32, f16, bf16, ...; see tensor/convert.h). A divisor that is not positive and finite is
 * TSR_E_FORMAT. For block types `first` and n are multiples of the block (whole rows always are),
 * and a scale that is infinite or NaN is TSR_E_FORMAT. */
tsr_status tsri_io_read_as(const tsri_io_archive *archive, const tsri_io_array *array, tsr_dtype to,
                           uint64_t first, size_t n, void *out);

/* Metadata: the value of a key, or NULL. */
const tsri_io_value *tsri_io_meta(const tsri_io_archive *archive, const char *key);

/* Typed values by key. A missing key leaves *out as it is and gives TSR_OK; another kind, or a
 * number outside [lowest, highest], is TSR_E_FORMAT with a sentence that names the file and the
 * key. A REAL may be stored as an integer. Text is borrowed from the archive and ends with a 0
 * byte; as it may have others, `length` (may be NULL) gives its bytes. */
tsr_status tsri_io_meta_int(const tsri_io_archive *archive, const char *key, int64_t lowest,
                            int64_t highest, int64_t *out);
tsr_status tsri_io_meta_real(const tsri_io_archive *archive, const char *key, double lowest,
                             double highest, double *out);
tsr_status tsri_io_meta_bool(const tsri_io_archive *archive, const char *key, bool *out);
tsr_status tsri_io_meta_text(const tsri_io_archive *archive, const char *key, const char **out,
                             size_t *length);
/* Gives a list whose items are all of `kind`; *out is NULL where the key is missing. */
tsr_status tsri_io_meta_list(const tsri_io_archive *archive, const char *key, tsri_io_kind kind,
                             const tsri_io_value **out);

/* Adds all metadata to a hash, sorted by key, but for what says how the file is split. */
void tsri_io_meta_hash(const tsri_io_archive *archive, tsri_hash *hash);

/* The key and the kind of a value; the kind of a list's items (0 for an empty list of unknown
 * kind), and their number. */
const char *tsri_io_value_key(const tsri_io_value *value);
tsri_io_kind tsri_io_value_kind(const tsri_io_value *value);
tsri_io_kind tsri_io_list_kind(const tsri_io_value *list);
size_t tsri_io_list_count(const tsri_io_value *list);
/* Items of a list that tsri_io_meta_list gave for that kind; i < count. list_real also reads
 * integers. */
int64_t tsri_io_list_int(const tsri_io_value *list, size_t i);
double tsri_io_list_real(const tsri_io_value *list, size_t i);
bool tsri_io_list_bool(const tsri_io_value *list, size_t i);
const char *tsri_io_list_text(const tsri_io_value *list, size_t i, size_t *length);

#endif
