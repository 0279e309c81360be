// Package served asks a model server on this machine or in its private network for the window that it serves a model with. Such
// servers cut an input that is longer without a word, and what is known of the model says nothing: Ollama serves 4,096 tokens of a
// model that could take 256,000 unless it is told otherwise.
//
//	a := served.New(nil)
//	tokens := a.Window("openai+http://127.0.0.1:11434/v1", "qwen3:8b") // 0 when it is not known
//
// What is asked, and where it is documented: Ollama's GET /api/ps (context_length of a model that is loaded) and POST /api/show
// (num_ctx of its parameters), of its API reference; llama.cpp's GET /props (default_generation_settings.n_ctx), of its server's
// README; LM Studio's GET /api/v0/models (loaded_context_length), of its REST API. No credential is sent, nothing is loaded by it,
// and servers at public addresses are not asked.
package served
