// Package footprint makes a process small that waits for hours beside other people's work.
package footprint
