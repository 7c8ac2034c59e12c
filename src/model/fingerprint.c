/* model/fingerprint.c - tells whether two models are the same. */
#include "model/load/fingerprint.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/structs.h"
#include "model/model.h"
#include "tessera/tokenizer.h"

enum { SAMPLE = 1 << 12 }; /* bytes of each array */

tsr_status tsr_model_fingerprint(const tsr_model *model, char hex[65]) {
    TRY(NEED(model));
    TRY(NEED(hex));
    const tsri_model *m = tsri_model_of(model);
    tsri_hash *hash = NULL;
    size_t size;
    char settings[65];
    TRY(tsri_model_hash_weights(m, SAMPLE, hex));
    TRY(tsri_model_hash_settings(m, settings));
    TRY(tsri_base_hash_begin(&hash));
    tsri_base_hash_text(hash, hex);
    tsri_base_hash_text(hash, settings);
    const char *piece = "";
    for (int32_t id = 0; id < m->spec.vocab && piece; id++) {
        piece = tsr_piece(model, id, &size);
        if (piece)
            tsri_base_hash_add(hash, piece, size);
        tsri_base_hash_text(hash, "");
    }
    tsri_base_hash_end_hex(&hash, hex);
    return TSR_OK;
}
