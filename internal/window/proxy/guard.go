package proxy

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// TokenHeader may carry the token in place of the path's first element.
const TokenHeader = "Plimsoll-Token"

// decodings is the number of times a path is unescaped when dot segments are looked for: an upstream behind servers that all
// unescape sees a path that was escaped as often. What is still escaped after that is no address of an API.
const decodings = 4

// hasDotSegment reports whether "." or ".." is among the elements of an escaped path, also escaped, or between backslashes, which some
// servers take for slashes; and for a path that is escaped more than decodings times. A configured key must not go where such a path leads.
func hasDotSegment(path string) bool {
	for range decodings {
		for element := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '/' || r == '\\' }) {
			if name, _, _ := strings.Cut(element, ";"); name == "." || name == ".." { // ;… is a parameter (RFC 3986, 3.3)
				return true
			}
		}
		plain := unescaped(path)
		if plain == path {
			return false
		}
		path = plain
	}
	return true
}

// unescaped returns path with every valid %XX decoded. Invalid escapes stay as they are, so that they do not hide the valid ones.
func unescaped(path string) string {
	if !strings.Contains(path, "%") {
		return path
	}
	out := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		if path[i] == '%' && i+2 < len(path) {
			if c, err := strconv.ParseUint(path[i+1:i+3], 16, 8); err == nil {
				out = append(out, byte(c))
				i += 2
				continue
			}
		}
		out = append(out, path[i])
	}
	return string(out)
}

// checkHost returns a refusal if the Host header is not ours, else nil: a name of somebody else's that resolves to this address lets a web
// page reach a local server (DNS rebinding).
func (p *Proxy) checkHost(r *http.Request) *refusal {
	if slices.ContainsFunc(p.o.Hosts, func(own string) bool { return sameHost(own, r.Host) }) {
		return nil
	}
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && ownHost(r.Host, local) {
		return nil
	}
	return &refusal{
		status: http.StatusMisdirectedRequest, reason: "host",
		text: "the Host header names neither localhost with this port nor a host this proxy was configured with; set [serve] hosts when it is meant",
	}
}

// sameHost reports whether a Host header is the configured host own, in any case. An own without a port matches every port.
func sameHost(own, header string) bool {
	if strings.EqualFold(own, header) {
		return true
	}
	host, _ := splitPort(header)
	return strings.EqualFold(own, host)
}

// splitPort splits a Host header. The port is "" when it has none; the brackets of an IPv6 address are removed.
func splitPort(header string) (host, port string) {
	if i := strings.LastIndexByte(header, ':'); i >= 0 && !strings.HasSuffix(header, "]") && (strings.Count(header, ":") == 1 || strings.HasPrefix(header, "[")) {
		header, port = header[:i], header[i+1:]
	}
	if strings.HasPrefix(header, "[") && strings.HasSuffix(header, "]") {
		header = header[1 : len(header)-1]
	}
	return header, port
}

// ownHost reports whether a Host header names localhost, a loopback address, or the address local that the request came to, with its port.
// A page that rebinds a name has that name in Host, never an address.
func ownHost(header string, local net.Addr) bool {
	host, port := splitPort(header)
	tcp, ok := local.(*net.TCPAddr)
	if !ok || port != strconv.Itoa(tcp.Port) {
		return false
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && (ip.IsLoopback() || ip.Equal(tcp.IP))
}

// checkOrigin returns a refusal if a browser sends the request for a page of another origin, else nil.
func (p *Proxy) checkOrigin(r *http.Request) *refusal {
	e := &refusal{
		status: http.StatusForbidden, reason: "origin",
		text: "a web page of another origin may not use this proxy; add its origin to [serve] origins when it is meant",
	}
	origins, ok := r.Header["Origin"]
	if !ok {
		// A browser sends no Origin with a plain GET, but names the site of the page.
		if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
			return e
		}
		return nil
	}
	if len(origins) != 1 {
		return e
	}
	if slices.Contains(p.o.Origins, origins[0]) {
		return nil
	}
	u, err := url.Parse(origins[0])
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") && strings.EqualFold(u.Host, r.Host) {
		return nil
	}
	return e
}

// A peer tells which user is at the other end of a connection. It is looked up once per connection, in a long table.
type peer struct {
	once sync.Once
	own  bool // the connection is known to be of this user, or root's
	err  error
	conn net.Conn
}

type peerKey struct{}

// ConnContext is to be set as http.Server.ConnContext of a server that was not made by [Proxy.Listen]. With it the user at the other end is
// looked up once per connection, without it once per request.
func (p *Proxy) ConnContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, peerKey{}, &peer{conn: c})
}

// checkPeer returns a refusal if another user of this host made the connection, or if that cannot be found out, else nil. With
// Options.AnyPeer every user may.
func (p *Proxy) checkPeer(r *http.Request) *refusal {
	if p.o.AnyPeer {
		return nil
	}
	var err error
	if known, ok := r.Context().Value(peerKey{}).(*peer); ok {
		known.once.Do(known.lookUp)
		err = known.err
	} else if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		remote, parseErr := net.ResolveTCPAddr("tcp", r.RemoteAddr)
		if err = parseErr; err == nil {
			_, err = peerAllowed(remote, local)
		}
	}
	if err == nil {
		return nil
	}
	return &refusal{status: http.StatusForbidden, reason: "peer", text: err.Error()}
}

// lookUp sets own and err by the connection's two addresses.
func (p *peer) lookUp() { p.own, p.err = peerAllowed(p.conn.RemoteAddr(), p.conn.LocalAddr()) }

// ownConnection reports whether the request came over a connection that is known to be of this user or root; false where the user cannot be
// found out.
func ownConnection(r *http.Request) bool {
	known, ok := r.Context().Value(peerKey{}).(*peer)
	if !ok {
		return false
	}
	known.once.Do(known.lookUp)
	return known.own && known.err == nil
}

// PeerKnown reports whether this system can name the user of a loopback connection, so that [Options.PeerPath] can be used.
func PeerKnown() bool { return peerKnown }

// peerAllowed returns an error if the process at the other end of a loopback connection belongs to another user; root is allowed, who could
// read our memory anyway, and so are connections from elsewhere, of which a token is demanded. own is true only when the user is known.
func peerAllowed(remote, local net.Addr) (own bool, err error) {
	from, ok := remote.(*net.TCPAddr)
	to, ok2 := local.(*net.TCPAddr)
	if !ok || !ok2 || !from.IP.IsLoopback() && !from.IP.Equal(to.IP) {
		return false, nil
	}
	uid, known, err := peerUID(from.AddrPort(), to.AddrPort())
	switch {
	case err != nil:
		return false, fmt.Errorf("which user asks can't be found out: %w", err)
	case known && uid != os.Getuid() && uid != 0:
		return false, fmt.Errorf("the connection is another user's (uid %d); every user runs a proxy of their own", uid)
	}
	return known, nil
}

// checkToken returns the request's path without the token, or a refusal if there is no valid one. The token may stand in the path's first
// element, in a header, or, where keys are injected, in place of the key. On a connection of this user Options.PeerPath will do instead.
func (p *Proxy) checkToken(r *http.Request) (string, *refusal) {
	full := rawPath(r)
	if p.token == nil {
		return full, nil
	}
	if first, rest, ok := cutElement(full); ok && p.isToken(unescape(first)) {
		return rest, nil
	}
	if first, rest, ok := cutElement(full); ok && p.o.PeerPath != "" && first == p.o.PeerPath && ownConnection(r) {
		return rest, nil
	}
	if p.isToken(r.Header.Get(TokenHeader)) {
		return full, nil
	}
	if up, _, ok := p.findUpstream(full); ok && up.key != "" {
		for _, name := range credentialHeaders {
			if p.isToken(bearerOf(r.Header.Get(name))) {
				return full, nil
			}
		}
	}
	return "", &refusal{
		status: http.StatusUnauthorized, reason: "token",
		text: "this proxy's token is missing or wrong; it is the first element of the path of the base URL that plimsoll set, or goes into the header " + TokenHeader,
	}
}

// dropToken removes this proxy's token from the credential headers h and the query of t: an upstream must not see it. Only values that
// equal the token go; TokenHeader always does.
func (p *Proxy) dropToken(h http.Header, t *url.URL) {
	delete(h, TokenHeader)
	if p.token == nil {
		return
	}
	for _, name := range append([]string{"Proxy-Authorization"}, credentialHeaders...) {
		if slices.ContainsFunc(h[name], func(value string) bool { return p.isToken(bearerOf(value)) }) {
			delete(h, name)
		}
	}
	if t.RawQuery == "" {
		return
	}
	var kept []string
	for pair := range strings.SplitSeq(t.RawQuery, "&") {
		if _, value, ok := strings.Cut(pair, "="); ok {
			if plain, err := url.QueryUnescape(value); err == nil && p.isToken(plain) {
				continue
			}
		}
		kept = append(kept, pair)
	}
	t.RawQuery = strings.Join(kept, "&")
}

// bearerOf returns the token of a header value "Bearer TOKEN", and any other value without the space around it.
func bearerOf(value string) string {
	value = strings.TrimSpace(value)
	if scheme, rest, ok := strings.Cut(value, " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(rest)
	}
	return value
}

// isToken reports whether s is the proxy's token. It must not be called if there is none. It compares digests: the time it takes reveals
// neither a byte nor the length.
func (p *Proxy) isToken(s string) bool {
	sum := sha256.Sum256([]byte(s))
	return subtle.ConstantTimeCompare(sum[:], p.token[:]) == 1
}

// Protect returns h behind the proxy's checks (Host, Origin, the peer's user, the token), for the same listener. The token stands in the
// path's first element, which h does not see, in the Plimsoll-Token header or, as scrapers send it, in Authorization.
func (p *Proxy) Protect(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.token != nil {
			if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && r.Header.Get(TokenHeader) == "" {
				r = r.Clone(r.Context())
				r.Header.Set(TokenHeader, bearer)
			}
		}
		below, e := p.admitRequest(r)
		if e != nil {
			p.answerRefusal(w, nil, e)
			return
		}
		r = r.Clone(r.Context())
		if below != rawPath(r) {
			r.URL.Path, r.URL.RawPath = below, ""
		}
		p.dropToken(r.Header, r.URL)
		h.ServeHTTP(w, r)
	})
}

// Guard is [Proxy.Protect] without the check of the token, for a handler that checks one itself.
func (p *Proxy) Guard(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if e := p.checkOutside(r); e != nil {
			p.answerRefusal(w, nil, e)
			return
		}
		h.ServeHTTP(w, r)
	})
}
