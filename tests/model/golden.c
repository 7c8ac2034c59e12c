/* Golden models: float64 results of the official implementation, and those of the larger set if it
 * is there. */
#include "model/fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define GGUF(title, name)                                \
    Test(golden_gguf, title) {                           \
        compare_golden(name, "model.gguf", "reference"); \
    }

#define GOLDEN_REFERENCE(title, name)            \
    Test(golden_reference, title) {              \
        compare_golden(name, NULL, "reference"); \
    }
#define GOLDEN(title, name)               \
    GOLDEN_REFERENCE(title, name)         \
    Test(golden_device, title) {          \
        fixture_few(name);                \
        compare_golden(name, NULL, NULL); \
    }

GOLDEN(gpt2, "gpt2")
GOLDEN(llama, "llama")
GOLDEN(llama3, "llama3")
GOLDEN(qwen2, "qwen2")
GOLDEN(mistral, "mistral")
GOLDEN(gpt2_tiny, "gpt2-tiny")
GOLDEN(llama_tiny, "llama-tiny")
GOLDEN(llama_biases, "llama-biases")
GOLDEN(llama_linear, "llama-linear")
GOLDEN(llama_dynamic, "llama-dynamic")
GOLDEN(llama_yarn, "llama-yarn")
GOLDEN(llama_llama3, "llama-llama3")
GOLDEN(qwen2_window, "qwen2-window")
GOLDEN(qwen3, "qwen3")
GOLDEN(gemma, "gemma")
GOLDEN(phi3, "phi3")
GOLDEN(gpt_neox, "gpt_neox")
GOLDEN(gpt_neox_serial, "gpt_neox-serial")
GOLDEN(starcoder2, "starcoder2")
GOLDEN(opt, "opt")
GOLDEN(opt_post, "opt-post")
GOLDEN(bloom, "bloom")
GOLDEN(llama_theta, "llama-theta")     /* in rope_parameters, not the default */
GOLDEN(mistral_theta, "mistral-theta") /* beside rope_scaling */
GOLDEN(gemma2, "gemma2")
GOLDEN(gemma3_text, "gemma3_text")
GOLDEN(olmo2, "olmo2")
GOLDEN(minicpm, "minicpm")
GOLDEN_REFERENCE(minicpm4, "minicpm4") /* longrope whose original length is the whole context */
GOLDEN(cohere2, "cohere2")
GOLDEN(mixtral, "mixtral")
GOLDEN(qwen2_moe, "qwen2_moe")
GOLDEN(qwen3_moe, "qwen3_moe")
GOLDEN_REFERENCE(olmoe, "olmoe")
GOLDEN(gpt_oss, "gpt_oss")
GOLDEN(gpt_oss_mxfp4, "gpt_oss-mxfp4") /* blocks and scales */
GOLDEN(deepseek_v2, "deepseek_v2")     /* queries without a latent vector */
GOLDEN(deepseek_v3, "deepseek_v3")
GOLDEN_REFERENCE(tessera_none, "tessera-none")
GOLDEN_REFERENCE(tessera_sinusoidal, "tessera-sinusoidal")

GGUF(gpt2_tiny, "gpt2-tiny")
GGUF(llama_tiny, "llama-tiny")
GGUF(llama_llama3, "llama-llama3")
GGUF(qwen3, "qwen3")
GGUF(gemma, "gemma")
GGUF(gemma2, "gemma2")
GGUF(gemma3_text, "gemma3_text")
GGUF(phi3, "phi3")
GGUF(gpt_neox, "gpt_neox")
GGUF(mixtral, "mixtral")
GGUF(qwen2_moe, "qwen2_moe")
GGUF(qwen3_moe, "qwen3_moe")
GGUF(olmoe, "olmoe")
GGUF(gpt_oss, "gpt_oss")
GGUF(gpt_oss_mxfp4, "gpt_oss-mxfp4") /* blocks */
GGUF(deepseek_v2, "deepseek_v2")     /* keys and values in one array */
GGUF(deepseek_v3, "deepseek_v3")     /* in two */
GGUF(granitemoe, "granitemoe-odd")
GGUF(granitemoeshared, "granitemoeshared-odd")
GGUF(olmo2, "olmo2-odd")
GGUF(granite, "granite-odd")
GGUF(minicpm, "minicpm")
GGUF(minicpm4, "minicpm4")
GGUF(cohere2, "cohere2-odd")
GGUF(stablelm, "stablelm-odd")
GGUF(glm, "glm-odd")
GGUF(glm4, "glm4-odd")
GGUF(phi, "phi-odd")
GGUF(falcon, "falcon-odd")
GGUF(phi3_longrope, "phi3-longrope-odd")

/* Everything that a config says has a value other than the default: a key that is not read gives
 * other numbers. */
#define ODD(title, name)                                \
    Test(golden_odd, title) {                           \
        compare_golden(name "-odd", NULL, "reference"); \
    }

ODD(gpt2, "gpt2")
ODD(llama, "llama")
ODD(qwen2, "qwen2")
ODD(qwen3, "qwen3")
ODD(mistral, "mistral")
ODD(phi3, "phi3")
ODD(phi3_longrope, "phi3-longrope") /* a share of each head */
ODD(llama_longrope, "llama-longrope")
ODD(gemma, "gemma")
ODD(gemma2, "gemma2")
ODD(gemma3_text, "gemma3_text")
ODD(gemma3, "gemma3") /* with arrays for images */
ODD(gpt_neox, "gpt_neox")
ODD(starcoder2, "starcoder2")
ODD(opt, "opt")
ODD(bloom, "bloom")
ODD(olmo2, "olmo2")
ODD(granite, "granite")
ODD(smollm3, "smollm3")
ODD(cohere, "cohere")
ODD(cohere2, "cohere2")
ODD(stablelm, "stablelm")
ODD(glm, "glm")
ODD(glm4, "glm4")
ODD(phi, "phi")
ODD(falcon, "falcon")
ODD(gptj, "gptj")
ODD(mpt, "mpt")
ODD(helium, "helium")
ODD(mixtral, "mixtral")
ODD(qwen2_moe, "qwen2_moe")
ODD(qwen3_moe, "qwen3_moe")
ODD(olmoe, "olmoe")
ODD(gpt_oss, "gpt_oss")
ODD(granitemoe, "granitemoe")
ODD(granitemoeshared, "granitemoeshared")
ODD(deepseek_v2, "deepseek_v2")
ODD(deepseek_v3, "deepseek_v3")

Test(golden_llama2c, llama) {
    compare_golden("llama", "model.bin", "reference");
}

/* The same weights as a bare base model: its hidden states and, if its output matrix is the
 * embedding, all that the whole model gives. */
#define BARE(title, name)                          \
    Test(golden_bare_reference, title) {           \
        compare_golden(name, "bare", "reference"); \
    }

BARE(llama_tiny, "llama-tiny")
BARE(qwen2_window, "qwen2-window")
BARE(gpt_neox, "gpt_neox")
BARE(gpt2_tiny, "gpt2-tiny")

Test(golden_bare_device, llama_tiny) {
    compare_golden("llama-tiny", "bare", NULL);
}

Test(golden_bare_reference, writes_nothing) {
    static const struct {
        const char *name, *fragment;
    } cases[] = {
        {"llama-tiny/bare", "(llama) is a bare model without an output matrix (lm_head."},
        {"gpt_neox/bare", "(gpt_neox) is a bare model without an output matrix (embed_out"},
        {"marian-apart/bare", "(marian) is a bare model without an output matrix (lm_h"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *folder = golden_folder(cases[i].name, 0);
        int32_t id = 5, argmax;
        const tsri_model_sequence one = {.ids = &id, .n = 1};
        const tsri_model_results results = {.argmax = &argmax};
        tsri_session *session = NULL;
        fixture f;
        fixture_device(&f, "reference");
        fixture_model(&f, folder, NULL);
        cr_assert(tsri_session_create(f.model, 1, 0, &session) == TSR_OK);
        cr_assert(tsri_session_forward(session, &one, 1, &results) == TSR_E_STATE);
        cr_assert(strstr(tsr_error_last(), cases[i].fragment), "%s", tsr_error_last());
        tsri_session_destroy(&session);
        fixture_close(&f);
        free(folder);
    }
}
