// Package prompt composes the system prompt of an agent from the tools that are connected.
package prompt
