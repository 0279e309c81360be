// Package tokens counts what a request costs in tokens.
package tokens

//go:generate go run ./internal/vocabgen -out internal/vocab
