// Package forwardproxy sends requests through the proxy that the environment names, and reports what is wrong with it.
//
//	t := &http.Transport{…}
//	forwardproxy.Use(t)                        // in the place of Proxy: http.ProxyFromEnvironment
//	err := forwardproxy.Check()                // HTTPS_PROXY that is no URL: before anything is asked
//
// HTTP_PROXY, HTTPS_PROXY and NO_PROXY count, in capitals or small letters, and never for loopback, as everywhere in Go. There a variable
// that cannot be read counts as none, and requests go out directly, past the proxy that somebody meant them to take. Here they fail, with
// the name of the variable and what it should look like. So does a request whose proxy refuses the password (407): its error names the
// proxy, where net/http says "Proxy Authentication Required" of nobody. No error holds a password.
//
// The environment is read by Use. Everything may be called from any goroutine. It is tested with real proxies.
package forwardproxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"golang.org/x/net/http/httpproxy"
)

// unreadable stands for the address of a proxy that cannot be read, so that the rules of NO_PROXY are asked first.
const unreadable = "http://unreadable.invalid"

// Use makes a transport send its requests through the proxy of the environment.
func Use(t *http.Transport) {
	t.Proxy = chooseProxy(httpproxy.FromEnvironment())
	t.OnProxyConnectResponse = func(_ context.Context, by *url.URL, _ *http.Request, answer *http.Response) error {
		return refusal(by, answer)
	}
}

// Transport returns net/http's own default with Use.
func Transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	Use(t)
	return t
}

// Check returns an error that names each variable that cannot be read; nil where both can, or are not set.
func Check() error {
	c := httpproxy.FromEnvironment()
	return errors.Join(checkAddress("HTTP_PROXY", c.HTTPProxy), checkAddress("HTTPS_PROXY", c.HTTPSProxy))
}

// Refused returns the reason why the forward proxy of a request refused it; nil for any other answer. It is for requests by plain HTTP, which
// go to the proxy itself: only a proxy answers with 407.
func Refused(r *http.Request, answer *http.Response) error {
	if answer.StatusCode != http.StatusProxyAuthRequired {
		return nil
	}
	if by, err := chooseProxy(httpproxy.FromEnvironment())(r); err == nil && by != nil {
		return refusal(by, answer)
	}
	return nil
}

// chooseProxy returns a function that returns the proxy for a request, nil for none. If the variable that would name it cannot be read, the
// function returns an error that says so, for requests of that scheme only.
func chooseProxy(c *httpproxy.Config) func(*http.Request) (*url.URL, error) {
	wrong := map[string]error{"http": checkAddress("HTTP_PROXY", c.HTTPProxy), "https": checkAddress("HTTPS_PROXY", c.HTTPSProxy)}
	if wrong["http"] != nil {
		c.HTTPProxy = unreadable
	}
	if wrong["https"] != nil {
		c.HTTPSProxy = unreadable
	}
	by := c.ProxyFunc()
	return func(r *http.Request) (*url.URL, error) {
		u, err := by(r.URL)
		if u != nil && u.String() == unreadable {
			return nil, wrong[r.URL.Scheme]
		}
		return u, err
	}
}

// checkAddress returns an error unless value is "" or the address of a proxy as net/http reads it, which takes a host and a port without a
// scheme for http. name is the variable.
func checkAddress(name, value string) error {
	if value == "" {
		return nil
	}
	if small := strings.ToLower(name); os.Getenv(name) == "" && os.Getenv(small) != "" {
		name = small
	}
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || !schemes[u.Scheme] {
		if strings.Contains(value, "://") {
			u = nil
		} else {
			u, err = url.Parse("http://" + value)
		}
	}
	if err == nil && u != nil && u.Hostname() != "" {
		return nil
	}
	return fmt.Errorf("%s is %q, which is no address of a proxy; write it as in %s=http://proxy.example.com:3128, or unset it", name, withoutPassword(value), name)
}

var schemes = map[string]bool{"http": true, "https": true, "socks5": true, "socks5h": true}

// withoutPassword returns a value without what may be a password: all before the last @ but the scheme.
func withoutPassword(value string) string {
	if at := strings.LastIndexByte(value, '@'); at >= 0 {
		scheme, _, ok := strings.Cut(value[:at], "://")
		if value = "********" + value[at:]; ok {
			value = scheme + "://" + value
		}
	}
	return value
}

// refusal returns the reason why a proxy makes no way to a host; nil where it does.
func refusal(by *url.URL, answer *http.Response) error {
	switch {
	case answer.StatusCode == http.StatusOK:
		return nil
	case answer.StatusCode == http.StatusProxyAuthRequired && by.User == nil:
		return fmt.Errorf("the proxy %s wants a user and a password (407); write them into the variable that names it: http://USER:PASSWORD@%s", by.Host, by.Host)
	case answer.StatusCode == http.StatusProxyAuthRequired:
		return fmt.Errorf("the proxy %s refuses the user or the password (407); correct them in the variable that names it", by.Host)
	}
	return fmt.Errorf("the proxy %s makes no way to it: %s", by.Host, answer.Status)
}
