// Package conversation keeps what agents and people said, on disk and within bounds.
package conversation
