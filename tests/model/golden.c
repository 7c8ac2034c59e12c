/* Golden models: float64 results of the official implementation, and the larger set's where that
 * is there. */
#include "model/fixture.h"

#include <criterion/criterion.h>

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
GOLDEN_REFERENCE(tessera_none, "tessera-none")
GOLDEN_REFERENCE(tessera_sinusoidal, "tessera-sinusoidal")

GGUF(gpt2_tiny, "gpt2-tiny")
GGUF(llama_tiny, "llama-tiny")
GGUF(llama_llama3, "llama-llama3")
GGUF(qwen3, "qwen3")
GGUF(gemma, "gemma")
GGUF(phi3, "phi3")
GGUF(gpt_neox, "gpt_neox")
