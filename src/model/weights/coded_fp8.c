/* model/weights/coded_fp8.c - e4m3, as DeepSeek and Qwen publish models. Of a matrix of I inputs and O outputs:
 *
 *     NAME.weight            F8_E4M3 [O, I]
 *     NAME.weight_scale_inv  one number for each tile of weight_block_size, or one for all; or
 *     NAME.weight_scale      one for each output, or one for all
 *
 * w = code * scale; despite its name, scale_inv is not inverted. Scales of activations are not read: these
 * stay floats.
 *
 * source  DeepSeek-AI 2024, arXiv:2412.19437; transformers' FineGrainedFP8Config */
#include "model/weights/coded.h"
#include "model/weights/coded_bytes.h"

#include "base/error.h"

#include <string.h>

static tsr_status check(tsri_model_coded_job *job) {
    const char *fmt = "e4m3";
    const json_t *size = json_object_get(job->settings, "weight_block_size");
    job->activations = true; /* whatever "activation_scheme" is */
    TRY(tsri_base_json_text(job->settings, job->what, "fmt", &fmt));
    if (strncmp(fmt, "e4m3", 4) != 0)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: \"quantization_config\": \"fmt\" is \"%s\", which is not read; "
                              "e4m3 is",
                              job->what, fmt);
    if (json_is_null(size))
        return TSR_OK;
    if (!size) { /* transformers' default, beside which files with one scale are read */
        job->sizes[0][0] = job->sizes[0][1] = 128;
        job->n_sizes = 1;
        return TSR_OK;
    }
    for (size_t i = 0; i < 2; i++) {
        const json_t *each = json_array_get(size, i);
        if (json_array_size(size) != 2 || !json_is_integer(each) || json_integer_value(each) < 1)
            return tsri_base_fail(
                TSR_E_FORMAT,
                "%s: \"quantization_config\": \"weight_block_size\" must be a list "
                "of two positive whole numbers",
                job->what);
        job->sizes[0][i] = json_integer_value(each);
    }
    job->n_sizes = 1;
    return TSR_OK;
}

static tsr_status take(tsri_model_coded_job *job, size_t index, char stem[TSRI_CODED_NAME],
                       tsri_model_coded_matrix **out) {
    const tsri_io_array *codes = &job->archive->arrays[index], *scales;
    if (strcmp(codes->type_name, "F8_E4M3") != 0 ||
        !tsri_model_coded_stem(codes->name, ".weight", stem))
        return TSR_OK;
    TRY(tsri_model_coded_part(job, stem, ".weight_scale_inv", false, &scales));
    if (!scales)
        TRY(tsri_model_coded_part(job, stem, ".weight_scale", true, &scales));
    return tsri_model_coded_of_bytes(job, index, scales, out);
}

static const char *const unread[] = {".input_scale",       ".activation_scale", ".output_scale",
                                     ".q_scale",           ".k_scale",          ".v_scale",
                                     ".prob_output_scale", ".kv_scale",         NULL};

const tsri_model_coded_format tsri_model_coded_fp8 = {
    .method = "fp8", .title = "FP8", .check = check, .take = take, .unread = unread};
