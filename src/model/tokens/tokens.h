/* model/tokens/tokens.h - reads the tokenizer of a model, whichever file it is in. */
#ifndef TSRI_MODEL_TOKENS_TOKENS_H
#define TSRI_MODEL_TOKENS_TOKENS_H

#include "io/archive.h"
#include "model/spec/spec.h"
#include "text/tokenizer/tokenizer.h"

/* The names of the files that a folder's tokenizer may be in, and of those that say more of it: its tokens' roles,
 * added tokens, chat templates. NULL at the end. */
extern const char *const tsri_model_tokenizer_files[];
extern const char *const tsri_model_tokenizer_settings[];
/* The folder of chat templates for other uses, such as tools; one of the files above is in it. */
extern const char tsri_model_more_templates[];

/* Reads the tokenizer of a folder: tokenizer.json, else tekken.json, tokenizer.model (SentencePiece's or
 * tiktoken's), tiktoken.model, qwen.tiktoken, cl100k_base.tiktoken, o200k_base.tiktoken, source.spm and
 * target.spm with vocab.json, sentencepiece.bpe.model, spiece.model, spm.model, merges.txt with vocab.json,
 * vocab.txt. Where such a file has no list of added tokens, they are those of tokenizer_config.json or
 * added_tokens.json. *out is NULL if there is none. */
tsr_status tsri_model_folder_tokenizer(const char *folder, const tsri_model_spec *spec,
                                       tsri_text_tokenizer **out);
/* Whether a folder has one of these files. */
bool tsri_model_has_tokenizer(const char *folder);
/* Reads the tokenizer of a path that need not have a model: a folder, a tokenizer.json or tekken.json, a
 * file of tiktoken (by its content), a SentencePiece .model or .spm (which adds no tokens of its own), or
 * the vocabulary in a GGUF file. *out is NULL if there is none. */
tsr_status tsri_model_tokenizer_at(const char *path, tsri_text_tokenizer **out);
tsr_status tsri_model_gguf_tokenizer(const tsri_io_archive *archive, tsri_text_tokenizer **out);
/* Reads the tokenizer.bin beside the checkpoint. */
tsr_status tsri_model_llama2c_tokenizer(const char *folder, const tsri_model_spec *spec,
                                        tsri_text_tokenizer **out);
/* Reads the tokenizer of a CTranslate2 folder: tokenizer.json, else its vocabulary files with the
 * SentencePiece model in the folder or above it (sentencepiece.model, source.spm and target.spm,
 * ...); without such a model, texts are cut at spaces. The target has its own tokenizer if it has
 * its own vocabulary or SentencePiece model. */
tsr_status tsri_model_ctranslate2_tokenizer(const tsri_io_archive *archive, const char *folder,
                                            const tsri_model_spec *spec, tsri_text_tokenizer **out);
/* The path of the SentencePiece model that cuts the texts of a side of a CTranslate2 folder: in it or above it; new
 * memory, or NULL: there is none. */
tsr_status tsri_model_ctranslate2_pieces(const char *folder, bool target, char **out);

#endif
