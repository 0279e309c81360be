package proxy

import (
	"crypto/hmac"
	"crypto/sha256"
	"net/http"
	"strings"

	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
)

// scope returns the name of what a credential may see: the credential's HMAC under the store's secret, or where nothing is stored under one
// that dies with the Proxy.
func (p *Proxy) scope(who string) (s checkpoint.Scope) {
	if p.o.Store != nil {
		return p.o.Store.Scope([]byte(who))
	}
	m := hmac.New(sha256.New, p.secret[:])
	m.Write([]byte(who))
	copy(s[:], m.Sum(nil))
	return s
}

// credential returns the client's credential, "" if it sends none. It separates the client's conversations from those of others and is only
// ever hashed. Of a signature of AWS it is the name of the key.
func credential(h http.Header, query string) string {
	for _, name := range credentialHeaders {
		v := h[name]
		if len(v) == 0 || v[0] == "" {
			continue
		}
		if key, ok := awsKey(v[0]); ok {
			return key // the rest of a signature is new with every request
		}
		return v[0]
	}
	for pair := range strings.SplitSeq(query, "&") {
		if key, ok := strings.CutPrefix(pair, "key="); ok {
			return key
		}
	}
	return ""
}

// awsKey returns the name of the key in "AWS4-HMAC-SHA256 Credential=KEY/DATE/…, …"; false for another header.
func awsKey(authorization string) (string, bool) {
	_, rest, ok := strings.Cut(authorization, "Credential=")
	if !ok || !strings.HasPrefix(authorization, "AWS4-") {
		return "", false
	}
	key, _, ok := strings.Cut(rest, "/")
	return key, ok
}
