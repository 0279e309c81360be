package wrap

// Unplan returns the change that unwraps a file. backup is the file before it was wrapped, nil if that is lost. If nothing else has changed
// since, After is the backup. Otherwise each wrapped entry is restored on its own: from the backup if it is exactly what wrapping made of
// the backup's entry, else from its arguments.
func Unplan(path string, data, backup []byte) (Change, error) {
	return planUnwrapAll(path, data, backup, false)
}
