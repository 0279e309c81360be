// Package smalldisk gives a test a file system of its own, of a few hundred kilobytes, to be filled: a tmpfs, on Linux and
// as root.
//
//	dir := smalldisk.New(t, "size=256k")
//	empty := smalldisk.Fill(t, dir)
//	// what is written now fails
//	empty()
package smalldisk
