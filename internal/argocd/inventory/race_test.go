//go:build race

package inventory

// many is how many applications a long list has, every of how many recorded objects one is
// searched, and sorts how many sorts are tried: the race detector takes ten times as long.
const (
	many  = 20_000
	every = 5
	sorts = 30
)
