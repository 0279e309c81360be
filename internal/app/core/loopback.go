package core

import (
	"net"
	"net/url"
)

// OnLoopback reports whether an address is of this machine, where nobody listens on the way.
func OnLoopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
