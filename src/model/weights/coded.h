/* model/weights/coded.h - matrices that another program has quantised: integers or short floats (codes), and
 * scales. config.json says {"quantization_config": {"quant_method": METHOD}}; each format is a row of
 * formats.c. Such a matrix becomes an array NAME.weight [outputs, inputs], which is made when its rows are
 * read:
 *
 *     w[o,i] = code[o,i] * scale[o, group(i)]
 *
 * It is of a block type if blocks of that type hold exactly these numbers, else of the dtype that
 * config.json gives the model. */
#ifndef TSRI_MODEL_WEIGHTS_CODED_H
#define TSRI_MODEL_WEIGHTS_CODED_H

#include "base/json.h"
#include "io/archive.h"

enum { TSRI_CODED_NAME = 1100, TSRI_CODED_PARTS = 4, TSRI_CODED_SIZES = 8 };

/* What was found in a folder; all 0: config.json names no such method. */
typedef struct tsri_model_coded_summary {
    const char *title; /* "GPTQ"; NULL: nothing was found */
    char type[32];     /* "gptq 4 bits": of most matrices */
    int64_t matrices, q4_0, q8_0;
    tsr_dtype wide;   /* that of the others */
    bool activations; /* the method also quantises what products read; here that stays floats */
} tsri_model_coded_summary;

/* If config.json names a method that formats.c has, turns the arrays of its matrices into such arrays and
 * takes the key out of the config. Methods that nothing reads are refused.
 *
 * error   TSR_E_UNSUPPORTED  a method, or a variant of one, that is not read
 *         TSR_E_FORMAT       an array is missing, has another shape than it must have, or points
 *                            outside of another */
tsr_status tsri_model_coded_adopt(json_t *config, const char *what, tsri_io_archive *archive,
                                  tsri_model_coded_summary *out);

/* Says for people what the matrices became. */
enum { TSRI_CODED_TEXT = 256 };
void tsri_model_coded_tell(const tsri_model_coded_summary *summary, char text[TSRI_CODED_TEXT]);

/* ---- for the files of formats ---- */

typedef struct tsri_model_coded_matrix tsri_model_coded_matrix;

/* Gives the codes and the scales of n rows from row `first` on, [n, columns] each: the scale of each
 * element. */
typedef tsr_status (*tsri_model_coded_read)(const tsri_model_coded_matrix *m,
                                            const tsri_io_archive *archive, int64_t first,
                                            int64_t n, float *codes, float *scales);

struct tsri_model_coded_matrix {
    tsri_io_made made; /* first, because the archive frees a matrix by this */
    tsri_model_coded_read read;
    int64_t rows, columns;
    /* Arrays that it is made from, as they were before they left the archive; a name is NULL where there is
     * no such array, and borrowed only until then. What `more` is depends on the format. */
    tsri_io_array codes, scales, zeros, more;
    int bits;            /* of a code, if codes are packed in words of 32 bits */
    int32_t middle;      /* subtracted from each code; of GPTQ, added to each zero point */
    int lowest, highest; /* of code minus zero point; both 0: they are not integers */
    /* Of scales in an array [rows / row_block, scale_columns], rounded up */
    int64_t row_block, scale_columns;
    /* Of bitsandbytes: elements of a block and of a block of scales; 16 numbers, and 256 of scales */
    int64_t block, scale_block;
    float offset, map[16], scale_map[256];
    int32_t group_of[]; /* by column: the column of its scale */
};

/* What is known while the matrices of a folder are looked for. */
typedef struct tsri_model_coded_job {
    tsri_io_archive *archive;
    const char *what;       /* config.json, for sentences */
    const json_t *settings; /* the value of "quantization_config" */
    bool *gone;             /* by array: it is a part of a matrix now */
    int bits;               /* what the settings say; 0: nothing */
    int64_t group;          /* likewise; -1: a whole row */
    bool minus_one;         /* GPTQ: zero points are stored less 1 */
    bool ordered, zeros; /* the settings say that there are arrays of groups, and of zero points */
    bool activations;    /* the settings say that activations are quantised, too */
    /* Rows and columns that share a scale, as the settings list them */
    int64_t sizes[TSRI_CODED_SIZES][2];
    int n_sizes;
} tsri_model_coded_job;

typedef struct tsri_model_coded_format {
    const char *method, *title;
    /* Reads the settings; refuses what is not read. */
    tsr_status (*check)(tsri_model_coded_job *job);
    /* Makes the matrix whose codes array `index` holds; *out stays NULL where it holds none. `stem` becomes
     * the name of the matrix without ".weight". */
    tsr_status (*take)(tsri_model_coded_job *job, size_t index, char stem[TSRI_CODED_NAME],
                       tsri_model_coded_matrix **out);
    const char *const
        *unread; /* ends of the names of arrays that are left out: NULL ends the list */
} tsri_model_coded_format;

extern const tsri_model_coded_format tsri_model_coded_gptq, tsri_model_coded_awq,
    tsri_model_coded_fp8, tsri_model_coded_compressed, tsri_model_coded_bitsandbytes;

/* If the name ends in `end`, writes what is before it. */
bool tsri_model_coded_stem(const char *name, const char *end, char stem[TSRI_CODED_NAME]);

/* The array stem + end, which becomes a part of a matrix. NULL where there is none; if it is needed, that is
 * TSR_E_FORMAT. */
tsr_status tsri_model_coded_part(tsri_model_coded_job *job, const char *stem, const char *end,
                                 bool needed, const tsri_io_array **out);

/* An empty matrix whose codes are array `index`. */
tsr_status tsri_model_coded_new(tsri_model_coded_job *job, size_t index, int64_t rows,
                                int64_t columns, tsri_model_coded_read read,
                                tsri_model_coded_matrix **out);

/* Refuses an array that has another dtype (as safetensors calls it; NULL: f32, f16 or bf16) or shape.
 * `rank` 0: the shape is not checked. */
tsr_status tsri_model_coded_expect(const tsri_model_coded_job *job, const tsri_io_array *array,
                                   const char *type, int rank, int64_t rows, int64_t columns);
tsr_status tsri_model_coded_refuse_shape(const tsri_model_coded_job *job,
                                         const tsri_io_array *array, const char *wanted);

/* Sets row_block, scale_columns and group_of by the shape of an array of scales: one number, one for each
 * row, or one of the job's sizes. */
tsr_status tsri_model_coded_grid(const tsri_model_coded_job *job, const tsri_io_array *scales,
                                 tsri_model_coded_matrix *m);
/* Spreads an array of that shape over n rows: of scales, or with `bits` of zero points packed along rows. */
tsr_status tsri_model_coded_spread(const tsri_model_coded_matrix *m, const tsri_io_archive *archive,
                                   const tsri_io_array *array, int bits, int64_t first, int64_t n,
                                   float *out);

/* Sets group_of from an array g_idx, one number for each column, below `groups`. */
tsr_status tsri_model_coded_indices(const tsri_model_coded_job *job, const tsri_io_array *g_idx,
                                    int64_t groups, tsri_model_coded_matrix *m);

/* Columns `first` to first + n - 1 of all rows of an array [rows, across], in the dtype `to`. */
tsr_status tsri_model_coded_columns(const tsri_io_archive *archive, const tsri_io_array *array,
                                    tsr_dtype to, int64_t first, int64_t n, void *out);

/* Whether all words of an array are this one. */
tsr_status tsri_model_coded_all_words(const tsri_io_archive *archive, const tsri_io_array *array,
                                      uint32_t word, bool *out);

/* Bytes of an array of any dtype, as they lie in the file. */
tsr_status tsri_model_coded_bytes(const tsri_io_archive *archive, const tsri_io_array *array,
                                  uint64_t first, size_t n, void *out);

/* The code of so many bits that begins at bit `bit`, the lowest bits first, in words that are `stride`
 * apart. */
static inline uint32_t tsri_model_coded_bits(const uint32_t *words, int64_t stride, int bits,
                                             int64_t bit) {
    const int64_t word = bit / 32 * stride;
    const int shift = (int)(bit % 32), over = shift + bits - 32;
    uint32_t code = words[word] >> shift;
    if (over > 0)
        code |= words[word + stride] << (bits - over);
    return code & ((1u << bits) - 1);
}

/* rows.c of this layer: tsri_io_made.rows of every matrix. */
tsr_status tsri_model_coded_rows(const tsri_io_made *made, const tsri_io_archive *archive,
                                 const tsri_io_array *array, tsr_dtype to, int64_t first, int64_t n,
                                 void *out);
/* The block type whose blocks hold exactly the matrix' numbers, or NONE. */
tsr_status tsri_model_coded_blocks(const tsri_io_archive *archive, const tsri_model_coded_matrix *m,
                                   tsr_dtype *out);

#endif
