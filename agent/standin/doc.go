// Package standin is an HTTP server in this process that speaks OpenAI's Chat Completions
// protocol and has no language model behind it.
package standin
