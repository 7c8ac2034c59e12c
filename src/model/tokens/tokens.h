/* model/tokens/tokens.h - the tokenizer that lies with a model, whatever file it is in. */
#ifndef TSRI_MODEL_TOKENS_TOKENS_H
#define TSRI_MODEL_TOKENS_TOKENS_H

#include "io/archive.h"
#include "model/spec/spec.h"
#include "text/tokenizer/tokenizer.h"

/* Of a folder: tokenizer.json; else the files of before: tokenizer.model, source.spm and target.spm
 * with vocab.json, sentencepiece.bpe.model, spiece.model, vocab.json with merges.txt, vocab.txt.
 * *out is NULL where there is none. */
tsr_status tsri_model_folder_tokenizer(const char *folder, const tsri_model_spec *spec,
                                       tsri_text_tokenizer **out);
/* Of a place that needn't hold a model: a folder, a tokenizer.json, a SentencePiece .model or .spm
 * (which adds no tokens of its own), or the vocabulary in a GGUF file. *out is NULL where there is
 * none. */
tsr_status tsri_model_tokenizer_at(const char *path, tsri_text_tokenizer **out);
tsr_status tsri_model_gguf_tokenizer(const tsri_io_archive *archive, tsri_text_tokenizer **out);
/* tokenizer.bin beside the checkpoint. */
tsr_status tsri_model_llama2c_tokenizer(const char *folder, const tsri_model_spec *spec,
                                        tsri_text_tokenizer **out);
/* Of a CTranslate2 folder: tokenizer.json, else its vocabulary files, with the SentencePiece model
 * that lies in the folder or above it (sentencepiece.model, source.spm and target.spm, ...);
 * without one, pieces are what stands between spaces. The target has a tokenizer of its own where
 * it has a vocabulary or a SentencePiece model of its own. */
tsr_status tsri_model_ctranslate2_tokenizer(const tsri_io_archive *archive, const char *folder,
                                            const tsri_model_spec *spec, tsri_text_tokenizer **out);

#endif
