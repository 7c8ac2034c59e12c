/* model/arch/encoder/model2vec.c - a table of vectors, one for each token: model2vec, and the module StaticEmbedding
 * of sentence-transformers, whose folder has no config.json.
 * https://sbert.net/docs/package_reference/sentence_transformer/models.html
 *
 * The vector of a text is the mean of its tokens' rows; no special tokens are put around a text. */
#include "model/arch/common/family.h"

#include "base/error.h"

#include <inttypes.h>

/* The tokens of a text that are read: enough for any, few enough for the square of it to be an int32. */
enum { READS = 1 << 15 };

/* The table has another name in the files of either. */
static const char *const tables[] = {"embedding.weight", "embeddings"};

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    tsri_model_stack *stack = &spec->encoder;
    const tsri_io_array *table = NULL;
    for (size_t i = 0; !table && i < sizeof tables / sizeof *tables; i++)
        table = tsri_io_find(config->archive, tables[i]);
    if (!table)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: the model has neither a tensor \"%s\" nor \"%s\", the table of "
                              "vectors that it consists of",
                              config->what, tables[0], tables[1]);
    if (table->rank != 2 || table->dims[0] < 1 || table->dims[0] > TSRI_MODEL_MAX_VOCAB ||
        table->dims[1] < 1 || table->dims[1] > TSRI_MODEL_MAX_WIDTH)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: tensor \"%s\" is not a table of up to %d rows of up to %d "
                              "numbers",
                              config->what, table->name, TSRI_MODEL_MAX_VOCAB,
                              TSRI_MODEL_MAX_WIDTH);
    spec->vocab = (int32_t)table->dims[0];
    spec->width = (int32_t)table->dims[1];
    spec->max_positions = READS;
    stack->layers = 1;
    stack->embeds_only = true;
    stack->place = TSRI_NORM_POST;
    stack->final_norm = false;
    return TSR_OK;
}

static const tsri_model_names names = {
    .prefix = "",
    .embed = "embedding|=embeddings",
};

const tsri_model_arch tsri_model_arch_model2vec = {
    .name = "model2vec",
    .encoder_names = &names,
    .read = read,
};
