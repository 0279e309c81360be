package a2a

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/limit"
)

const (
	maxURL     = 2 * limit.KiB
	maxSecret  = 4 * limit.KiB // of a token and of credentials
	lookupTime = 3 * time.Second
)

// closedNetworks returns networks that are not the public internet, beside those that package netip knows (IANA's special-purpose address
// registries). Among them are all places where clouds serve their metadata.
func closedNetworks() []netip.Prefix {
	list := []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24",
		"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		// Azure's host: metadata, DNS and certificates for each machine, at a public address.
		"168.63.129.16/32",
		// Addresses that carry one of IPv4 in them.
		"::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/23", "2002::/16",
		"100::/64", "2001:db8::/32", "3fff::/20", "5f00::/16", "fec0::/10",
	}
	out := make([]netip.Prefix, len(list))
	for i, text := range list {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}

// pushGuard keeps push notifications away from addresses that are not public: whoever may send a task must not reach the server's own
// network by it.
type pushGuard struct {
	allow, closed []netip.Prefix
	hosts         []string
	resolver      *net.Resolver
}

func newPushGuard(allow []netip.Prefix, hosts []string) *pushGuard {
	return &pushGuard{allow: allow, hosts: hosts, closed: closedNetworks(), resolver: net.DefaultResolver}
}

var errNotPublic = errors.New("it is not on the public internet: name an address that is, or have the server allow its host or network ([serve] push_allow)")

// isAllowedName reports whether a host is allowed by its name, whatever address it resolves to.
func (g *pushGuard) isAllowedName(host string) bool {
	return slices.Contains(g.hosts, strings.ToLower(strings.TrimSuffix(host, ".")))
}

// checkAddress returns an error for an address that is neither public nor in an allowed network.
func (g *pushGuard) checkAddress(a netip.Addr) error {
	a = a.Unmap().WithZone("")
	for _, p := range g.allow {
		if p.Contains(a) {
			return nil
		}
	}
	public := a.IsValid() && a.IsGlobalUnicast() && !a.IsPrivate()
	for _, p := range g.closed {
		public = public && !p.Contains(a)
	}
	if !public {
		return fmt.Errorf("%s: %w", a, errNotPublic)
	}
	return nil
}

// check returns an error if the URL of a new configuration is invalid or leads to a closed address. A name that does not resolve passes:
// each connection is checked again.
func (g *pushGuard) check(ctx context.Context, text string) error {
	if len(text) > int(maxURL) {
		return fmt.Errorf("it is longer than %s", maxURL.Human())
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("it is no address")
	case u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("its scheme is %q: http and https are known", limit.Clip(u.Scheme, 32))
	case u.Hostname() == "":
		return errors.New("it names no host")
	case u.User != nil:
		return errors.New("it has credentials in it: put them into authentication")
	}
	host := strings.TrimSuffix(u.Hostname(), ".")
	if a, err := netip.ParseAddr(host); err == nil {
		return g.checkAddress(a)
	}
	if g.isAllowedName(host) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	found, err := g.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		if strings.EqualFold(host, "localhost") || strings.HasSuffix(strings.ToLower(host), ".localhost") {
			return g.checkAddress(netip.AddrFrom4([4]byte{127, 0, 0, 1}))
		}
		return nil
	}
	for _, a := range found {
		if g.checkAddress(a) != nil {
			return errNotPublic // without the address: names of an inner network are nobody's business
		}
	}
	return nil
}

// PublicTransport returns a transport that connects only to public addresses, to the allowed networks and to the allowed hosts. Each
// connection is checked, after its name is resolved.
func PublicTransport(allow []netip.Prefix, hosts []string) *http.Transport {
	t := newPushGuard(allow, hosts).transport(connectTime)
	t.ResponseHeaderTimeout = 0 // an agent may answer late
	return t
}

// connectTime bounds the time to connect, for [PublicTransport].
const connectTime = 10 * time.Second

// client returns an HTTP client whose connections are checked and that follows no redirects.
func (g *pushGuard) client(timeout time.Duration) *http.Client {
	return &http.Client{
		Timeout: timeout, Transport: g.transport(timeout),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// transport returns a transport that checks each address after its name is resolved, so a name that changed its address does not pass. It
// uses no proxy, because then the proxy's address would be checked.
func (g *pushGuard) transport(timeout time.Duration) *http.Transport {
	dialer := &net.Dialer{
		Timeout: timeout,
		Control: func(_, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("%s: %w", address, errNotPublic)
			}
			return g.checkAddress(at.Addr())
		},
	}
	named := &net.Dialer{Timeout: timeout}
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if host, _, err := net.SplitHostPort(address); err == nil && g.isAllowedName(host) {
				return named.DialContext(ctx, network, address)
			}
			return dialer.DialContext(ctx, network, address)
		},
		TLSHandshakeTimeout:    timeout,
		ResponseHeaderTimeout:  timeout,
		MaxResponseHeaderBytes: 64 << 10,
		MaxIdleConns:           16,
		MaxIdleConnsPerHost:    1,
		IdleConnTimeout:        30 * time.Second,
		ForceAttemptHTTP2:      true,
	}
}

// checkSecret returns an error for a text that is too long or cannot be the value of a header. what names the text in the error.
func checkSecret(what, text string) error {
	if len(text) > int(maxSecret) {
		return fmt.Errorf("%s is longer than %s", what, maxSecret.Human())
	}
	for i := range len(text) {
		if c := text[i]; c < ' ' && c != '\t' || c == 0x7f {
			return fmt.Errorf("%s has a control character in it, at byte %d", what, i)
		}
	}
	return nil
}

// MetadataHops is the key in a message's metadata for the number of agents that its question has passed through.
const MetadataHops = "plimsoll.hops"

type hopsKey struct{}

// Hops returns the number of agents that a question has passed through, from the context of a call that [AgentExecutor] makes; 0 if the
// message had no count.
func Hops(ctx context.Context) int {
	n, _ := ctx.Value(hopsKey{}).(int)
	return n
}

// withHops returns ctx with the count in the message's metadata, if there is one, for [Hops].
func withHops(ctx context.Context, m *sdk.Message) context.Context {
	if n, ok := m.Metadata[MetadataHops].(float64); ok && n >= 1 { // false for NaN
		return context.WithValue(ctx, hopsKey{}, int(min(n, 1<<20)))
	}
	return ctx
}
