//go:build race

package inventory

// many is how many applications a long list has: the race detector takes ten times as long.
const many = 20_000
