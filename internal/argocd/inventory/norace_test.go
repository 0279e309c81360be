//go:build !race

package inventory

// many is how many applications a long list has, every of how many recorded objects one is
// searched, and sorts how many sorts are tried.
const (
	many  = 100_000
	every = 1
	sorts = 200
)
