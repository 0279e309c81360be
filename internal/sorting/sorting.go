// Package sorting sorts slices of structs with one copy of the machine code for all types.
//
//	sorting.By(tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
//
// The compiler makes a copy of [slices.SortFunc] of some 20 KB for each type of struct that it is called with, which was 1.5 MB of the binary. Here
// a type costs a small function, and sorting takes up to twice as long: whoever sorts many in the way of a request takes package slices.
package sorting

import (
	"iter"
	"slices"
	"sort"
)

// By works like [slices.SortFunc].
//
//go:noinline
func By[S ~[]E, E any](list S, cmp func(a, b E) int) { sort.Slice(list, less(list, cmp)) }

// StableBy works like [slices.SortStableFunc].
//
//go:noinline
func StableBy[S ~[]E, E any](list S, cmp func(a, b E) int) { sort.SliceStable(list, less(list, cmp)) }

// CollectBy works like [slices.SortedFunc].
func CollectBy[E any](seq iter.Seq[E], cmp func(a, b E) int) []E {
	list := slices.Collect(seq)
	By(list, cmp)
	return list
}

//go:noinline
func less[E any](list []E, cmp func(a, b E) int) func(i, j int) bool {
	return func(i, j int) bool { return cmp(list[i], list[j]) < 0 }
}
