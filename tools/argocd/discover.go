package argocd

import "errors"

// DiscoverOptions say where to look for the address of a server.
type DiscoverOptions struct {
	Getenv  func(string) string
	Home    string
	Context string
	Server  string
}

// Discover finds the address and the credentials of a server.
func Discover(o DiscoverOptions) (Options, []string, error) { return Options{}, nil, errors.ErrUnsupported }
