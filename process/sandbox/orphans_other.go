//go:build !linux

package sandbox

// Orphans returns nothing: there are no control groups here.
func Orphans(func(id string) bool) ([]Orphan, error) { return nil, nil }

func markLeft(cage) {}
