//go:build !linux

package admission

// openBell only polls here.
func openBell(string) bell { return deafBell{} }
