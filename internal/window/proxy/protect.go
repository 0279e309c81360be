package proxy

import (
	"net/http"
	"strings"
)

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
		below, e := p.admit(r)
		if e != nil {
			p.refuse(w, nil, e)
			return
		}
		r = r.Clone(r.Context())
		if below != path(r) {
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
			p.refuse(w, nil, e)
			return
		}
		h.ServeHTTP(w, r)
	})
}
