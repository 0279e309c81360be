//go:build !race

package inventory

// many is how many applications a long list has.
const many = 100_000
