package fleet

import "io/fs"

// exposed is false: the mode of a file on Windows does not say who may read it.
func othersMayRead(fs.FileInfo) bool { return false }
