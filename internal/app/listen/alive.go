package listen

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
)

// answers asks the listener at addr for its health.
func answers(addr net.Addr, secure bool) func(context.Context) error {
	return Asking(addr.Network(), addr.String(), secure, "/healthz")
}

// Asking returns a function that asks the daemon at addr for path (/healthz or /readyz) over a new connection, as any client would. Its
// error says why there was no answer, or that the status was not 200.
func Asking(network, addr string, secure bool, path string) func(context.Context) error {
	url := "http://plimsoll" + path
	if secure {
		url = "https://plimsoll" + path
	}
	var d net.Dialer
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return d.DialContext(ctx, network, addr)
		},
		// It is our own certificate, for a name that this address need not have, and nothing secret is said.
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true, // a connection that is there already says nothing of whether new ones are taken
	}}
	return func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		answer, err := client.Do(r)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<10))
		_ = answer.Body.Close()
		if err == nil && answer.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s answers %s", url, answer.Status)
		}
		return err
	}
}
