package argocd

import (
	"encoding/csv"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/plimsoll/plimsoll/internal/shellwords"
)

// maxFlags bounds ARGOCD_OPTS, in bytes.
const maxFlags = 64 << 10

// flags are the flags in ARGOCD_OPTS.
type flags struct {
	server, token, config, context, root string
	ca, cert, key                        string
	insecure, plain                      *bool
	header                               http.Header
	retries                              int
	ignored                              []string
}

// parseFlags parses ARGOCD_OPTS as the argocd CLI does (util/config/env.go): words as in a shell, flags as --name, --name value or
// --name=value.
func parseFlags(text string) (flags, error) {
	var f flags
	if len(text) > maxFlags {
		return f, fmt.Errorf("it is larger than %d bytes", maxFlags)
	}
	words, err := shellwords.Split(text)
	if err != nil {
		return f, err
	}
	for i := 0; i < len(words); i++ {
		word := words[i]
		name, ok := strings.CutPrefix(word, "--")
		if word == "-H" {
			name, ok = "header", true
		}
		if !ok || name == "" {
			return f, fmt.Errorf("%q is no flag; write --name value", safeText(word, 60))
		}
		name, value, given := strings.Cut(name, "=")
		if !given && i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") {
			i++
			value, given = words[i], true
		}
		if err := f.setFlag(name, value, given); err != nil {
			return f, err
		}
	}
	return f, nil
}

// setFlag stores a flag. given says that it has a value; without one a boolean is true. Flags that have no meaning here are collected in f.ignored,
// and those that need the argocd CLI are errors.
func (f *flags) setFlag(name, value string, given bool) error {
	texts := map[string]*string{
		"server": &f.server, "auth-token": &f.token, "config": &f.config, "argocd-context": &f.context,
		"grpc-web-root-path": &f.root, "server-crt": &f.ca, "client-crt": &f.cert, "client-crt-key": &f.key,
	}
	if to, ok := texts[name]; ok {
		if value == "" {
			return fmt.Errorf("--%s has no value", name)
		}
		*to = value
		return nil
	}
	switch name {
	case "insecure", "plaintext", "core", "port-forward":
		on := true
		if given {
			var err error
			if on, err = strconv.ParseBool(value); err != nil {
				return fmt.Errorf("--%s is %q; write true or false", name, safeText(value, 60))
			}
		}
		switch {
		case name == "insecure":
			f.insecure = &on
		case name == "plaintext":
			f.plain = &on
		case on:
			return fmt.Errorf("--%s has no meaning without the argocd CLI: it needs the URL of an API server; give one and remove the flag", name)
		}
		return nil
	case "header":
		return f.addHeaders(value)
	case "http-retry-max":
		n, err := strconv.ParseUint(value, 10, 8)
		if err != nil {
			return fmt.Errorf("--%s is %q; write a number up to 255", name, safeText(value, 60))
		}
		f.retries = int(n)
		return nil
	}
	if name = safeText(name, 60); !slices.Contains(f.ignored, name) {
		f.ignored = append(f.ignored, name)
	}
	return nil
}

// addHeaders adds headers of the form "Name: value", several separated by commas as in a line of CSV.
func (f *flags) addHeaders(text string) error {
	fields, err := csv.NewReader(strings.NewReader(text)).Read()
	if err != nil {
		return errors.New(`--header cannot be read; write --header "Name: value"`)
	}
	for _, field := range fields {
		name, value, ok := strings.Cut(field, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		// The text is not in the error: it may be a credential.
		if !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return errors.New(`--header is no header; write --header "Name: value"`)
		}
		if f.header == nil {
			f.header = http.Header{}
		}
		f.header.Add(name, value)
	}
	return nil
}
