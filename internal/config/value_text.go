package config

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// maxText bounds a text or URL, in bytes.
const maxText = 2048

// parseRatio returns a number as float64, else a *misfit; a ratio may be written as 60%. The key's min and max are in hundredths.
func (k *Key) parseRatio(w written) (any, error) {
	want := "a number"
	if k.Type == TypeAutoRatio {
		want = `a number or "auto"`
	}
	text := strings.TrimSpace(w.text)
	part, percent := strings.CutSuffix(text, "%")
	if percent = percent && k.Type == TypeRatio && w.isText(); !percent && w.form != formFloat && w.form != formInt && w.form != formText {
		return nil, k.misfitFor(w, want, k.example)
	}
	if percent {
		text = strings.TrimSpace(part)
	} else if w.form != formText {
		text = strings.ReplaceAll(text, "_", "")
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, k.misfitFor(w, want, k.example)
	}
	if percent {
		v /= 100
	}
	if low, high := float64(k.min)/100, float64(k.max)/100; !(v >= low && v <= high) { // also false for NaN
		fix := fmt.Sprintf("write %s = %s", k.Name, k.example)
		if (k.Type == TypeRatio || k.Type == TypeAutoRatio) && !percent && v > 1 && v >= float64(k.min) && v <= float64(k.max) {
			fix = fmt.Sprintf("did you mean %s?", format(v/100))
		}
		return nil, &misfit{fmt.Sprintf("%s is out of range, %s to %s", clip(w.text), format(low), format(high)), fix}
	}
	return v, nil
}

// keyName returns the name of the key that names the variable with the credential for this URL.
func (k *Key) keyName() string {
	switch {
	case k.Table == agentsTable:
		return "key_env"
	case k.setServer != nil:
		return "token"
	}
	return strings.TrimSuffix(k.Name, "_url") + "_key"
}

// parseURL returns the text of w if it is the URL of a service, trimmed, and a base URL without slashes at its end, else a *misfit. A user name in
// it is one, because it would be a secret in a file, and so is a query unless any URL may stand there. It may be empty if the key has no default.
func (k *Key) parseURL(w written) (any, error) {
	if !w.isText() {
		return nil, k.misfitFor(w, "a URL", k.example)
	}
	text := strings.TrimSpace(w.text)
	if k.Type != TypeAnyURL {
		text = strings.TrimRight(text, "/")
	}
	if text == "" && k.set != nil && k.Default == "" {
		return "", nil // none, as when it is not set
	}
	fix := fmt.Sprintf("write %s = %s", k.Name, k.example)
	u, err := url.Parse(text)
	switch {
	case err != nil || len(text) > maxText || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Opaque != "":
		return nil, &misfit{quote(w.text) + " is not a URL with http or https and a host", fix}
	case u.User != nil:
		return nil, &misfit{"a user name or password does not belong into the URL", "write it without, and name the variable that holds the key in " + k.keyName()}
	case u.Fragment != "" || u.RawQuery != "" && k.Type != TypeAnyURL:
		// There may be a key in the query: only what stands before it is repeated.
		before, _, _ := strings.Cut(strings.Replace(w.text, "#", "?", 1), "?")
		return nil, &misfit{quote(before) + " has a query or a fragment behind it, which a base URL has not", fix}
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return nil, &misfit{quote(port) + " is not a port", fix}
		}
	}
	return text, nil
}

// parseCollector parses the address of a collector that takes OTLP over HTTP. An address that is for gRPC, as most that people have at
// hand, gets an error that says so.
func (k *Key) parseCollector(w written) (any, error) {
	text := strings.TrimSpace(w.text)
	if !w.isText() {
		return nil, k.misfitFor(w, "a URL", k.example)
	}
	if text == "" {
		return text, nil
	}
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		scheme, rest = "", text
	}
	scheme = strings.ToLower(scheme)
	host, path, _ := strings.Cut(rest, "/")
	port := host[strings.LastIndexByte(host, ':')+1:]
	// With a path somebody has HTTP on that port on purpose.
	if strings.HasPrefix(scheme, "grpc") || strings.EqualFold(text, "grpc") || scheme == "dns" || port == "4317" && path == "" {
		if strings.Contains(text, "@") {
			text = "the address"
		} else {
			text = quote(text)
		}
		return nil, &misfit{
			text + " is OTLP over gRPC, which is not spoken here: name the port on which the collector takes http/protobuf, which is 4318 unless somebody changed it",
			fmt.Sprintf("write %s = %s", k.Name, k.example),
		}
	}
	if strings.HasPrefix(strings.ToLower(text), "http/") {
		return nil, &misfit{quote(text) + " is the name of a protocol, not an address", fmt.Sprintf("write %s = %s", k.Name, k.example)}
	}
	if u, err := url.Parse(text); err == nil && u.User != nil {
		return nil, &misfit{"a user name or password does not belong into the URL", "send to a collector of your own, which adds it and sends on"}
	}
	return k.parseURL(w)
}

// parseAddress returns the text of w, trimmed, if it is HOST:PORT (:PORT means all addresses), else a *misfit.
func (k *Key) parseAddress(w written) (any, error) {
	if !w.isText() {
		return nil, k.misfitFor(w, "an address", k.example)
	}
	text := strings.TrimSpace(w.text)
	fix := fmt.Sprintf("write %s = %s", k.Name, k.example)
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return nil, &misfit{quote(w.text) + " is not HOST:PORT", fix}
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return nil, &misfit{quote(port) + " is not a port", fix}
	}
	if strings.ContainsAny(host, "/@ ") {
		return nil, &misfit{quote(host) + " is not the name or address of a host", fix}
	}
	return text, nil
}

// maxVariable bounds the name of an environment variable, in bytes.
const maxVariable = 64

// parseVariable returns the name of an environment variable, or "" from an empty text, else a *misfit that does not repeat the value, which may be
// a secret.
func (k *Key) parseVariable(w written) (any, error) {
	if !w.isText() {
		return nil, k.misfitFor(w, "the name of an environment variable", k.example)
	}
	text := strings.TrimSpace(w.text)
	name := len(text) <= maxVariable
	for i, c := range []byte(text) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		name = name && (letter || i > 0 && c >= '0' && c <= '9')
	}
	if !name {
		return nil, &misfit{
			"the value is not the name of an environment variable",
			fmt.Sprintf("write %s = %s and put the secret into that variable: it does not belong into a file", k.Name, k.example),
		}
	}
	return text, nil
}
