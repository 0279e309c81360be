package fleet

// private is false: the mode of a file on Windows does not say who may read it.
const private = false
