// Package nearest finds the names that somebody may have meant who wrote another: keys of a configuration, tools and arguments
// that a model called.
//
//	if near := nearest.Names("list_aplications", known, 1); len(near) > 0 { … did you mean near[0]? }
//
// Case, "-", "_", "." and blanks do not count. A name is near when at most a third of the letters (and at least one may) have to
// be changed, added, left out or swapped with their neighbour; after those come names that hold what was written, or are held by
// it. What was written is read as far as 64 bytes: the cost grows with the square.
package nearest
