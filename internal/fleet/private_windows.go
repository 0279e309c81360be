package fleet

import "io/fs"

// othersMayRead returns false: the mode of a file on Windows does not say who may read it.
func othersMayRead(fs.FileInfo) bool { return false }
