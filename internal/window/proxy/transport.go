package proxy

import (
	"context"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/plimsoll/plimsoll/internal/forwardproxy"
)

// Limits of [NewTransport].
const (
	ConnectTimeout  = 15 * time.Second
	MaxConnsPerHost = 512
	idlePerHost     = 64
	idleConns       = 256
	idleFor         = 90 * time.Second
	pingAfter       = 30 * time.Second
	pingTimeout     = 15 * time.Second
)

// NewTransport returns the transport to the upstreams: HTTP/2 where they speak it, the proxy that HTTP_PROXY, HTTPS_PROXY and NO_PROXY name
// (as they are now; see [forwardproxy.Use]), connections kept for reuse. It adds nothing to a request and takes no content encoding off an
// answer. Connecting and TLS have a time limit, an answer has none.
func NewTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: ConnectTimeout, KeepAlive: 30 * time.Second}
	t := &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, network, address)
			if tcp, ok := c.(*net.TCPConn); ok {
				c = bodyConn{tcp}
			}
			return c, err
		},
		TLSHandshakeTimeout:   ConnectTimeout,
		ExpectContinueTimeout: time.Second,
		ForceAttemptHTTP2:     true,
		DisableCompression:    true,
		MaxConnsPerHost:       MaxConnsPerHost,
		MaxIdleConns:          idleConns,
		MaxIdleConnsPerHost:   idlePerHost,
		IdleConnTimeout:       idleFor,
		// A model that thinks sends nothing for minutes; a ping tells that from a dead
		// connection, over which all requests to that host would hang.
		HTTP2: &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
	}
	forwardproxy.Use(t)
	return t
}

// A bodyConn writes a body that is in memory without a copy. net/http would copy it, 32 KB at a time.
type bodyConn struct{ *net.TCPConn }

// ReadFrom is called by net/http to send a body where there is no TLS.
func (c bodyConn) ReadFrom(r io.Reader) (int64, error) {
	if l, ok := r.(*io.LimitedReader); ok {
		if held, ok := l.R.(*heldReader); ok {
			n, err := held.writeTo(c.TCPConn, l.N)
			l.N -= n
			return n, err
		}
	}
	return c.TCPConn.ReadFrom(r)
}
