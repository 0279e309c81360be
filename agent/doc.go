// Package agent is a loop between a language model and tools that stays inside its limits.
package agent
