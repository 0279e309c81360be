// Package sorting sorts slices of structs with one copy of the machine code for all types.
//
//	sorting.By(tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
//
// The compiler makes a copy of [slices.SortFunc] of some 20 KB for each type of struct that it is called with, which was 1.5 MB of the binary. Here
// a type costs two small functions, and sorting takes up to twice as long: whoever sorts many in the way of a request takes package slices.
package sorting

import (
	"iter"
	"slices"
	"sort"
)

// By works like [slices.SortFunc].
func By[S ~[]E, E any](list S, cmp func(a, b E) int) { sort.Sort(sortable(list, cmp)) }

// StableBy works like [slices.SortStableFunc].
func StableBy[S ~[]E, E any](list S, cmp func(a, b E) int) { sort.Stable(sortable(list, cmp)) }

// CollectBy works like [slices.SortedFunc].
func CollectBy[E any](seq iter.Seq[E], cmp func(a, b E) int) []E {
	list := slices.Collect(seq)
	By(list, cmp)
	return list
}

// functions are a list of any type to package sort.
type functions struct {
	n    int
	less func(i, j int) bool
	swap func(i, j int)
}

func (f *functions) Len() int           { return f.n }
func (f *functions) Less(i, j int) bool { return f.less(i, j) }
func (f *functions) Swap(i, j int)      { f.swap(i, j) }

func sortable[E any](list []E, cmp func(a, b E) int) *functions {
	return &functions{
		n:    len(list),
		less: func(i, j int) bool { return cmp(list[i], list[j]) < 0 },
		swap: func(i, j int) { list[i], list[j] = list[j], list[i] },
	}
}
