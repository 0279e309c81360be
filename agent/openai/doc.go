// Package openai asks models through the Chat Completions protocol.
package openai
