package conversation

import "errors"

// smallFiles needs a limit of the process, which Windows has not.
func smallFiles(string) error { return errors.New("not on Windows") }
