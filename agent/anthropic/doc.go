// Package anthropic asks models through the Messages protocol.
package anthropic
