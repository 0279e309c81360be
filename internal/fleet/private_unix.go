//go:build unix

package fleet

// private is true where the mode of a file says who may read it.
const private = true
