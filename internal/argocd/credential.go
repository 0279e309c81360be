package argocd

import (
	"fmt"
	"os"
	"strings"
)

// tokenVariables returns the environment variables for the token; the first that is set is used.
func tokenVariables() []string {
	return []string{"ARGOCD_AUTH_TOKEN", "ARGOCD_AUTH_TOKEN_FILE", "ARGOCD_API_TOKEN", "ARGOCD_TOKEN", "ARGOCD_TOKEN_FILE"}
}

// token chooses the credential, and warns of others that are not used.
func (d *discovery) token(user *configUser) error {
	type credential struct {
		source, value string
		file          bool
	}
	var all []credential
	fromFile := func() {
		if user != nil && user.token != "" {
			all = append(all, credential{source: fmt.Sprintf("the token of %q in %s", user.name, d.file.path), value: user.token})
		}
	}
	if d.o.Context != "" && d.o.Server == "" {
		fromFile()
	}
	if d.flags.token != "" {
		all = append(all, credential{source: "--auth-token in ARGOCD_OPTS", value: d.flags.token})
	}
	for _, name := range tokenVariables() {
		if value := d.env(name); value != "" {
			all = append(all, credential{name, value, strings.HasSuffix(name, "_FILE")})
		}
	}
	if d.o.Context == "" || d.o.Server != "" {
		fromFile()
	}
	if len(all) == 0 {
		d.warn("there is no token: only what is open to everyone can be read; set ARGOCD_AUTH_TOKEN, or log in with argocd login")
		return nil
	}
	chosen := all[0]
	for _, other := range all[1:] {
		if other.file != chosen.file || bearer(other.value) != bearer(chosen.value) {
			d.warn("%s is used as the credential, and %s is not", chosen.source, other.source)
		}
	}
	if chosen.file {
		if info, err := os.Stat(chosen.value); err == nil {
			d.warnOpen(chosen.value, info)
		}
		if _, err := readToken(chosen.value); err != nil {
			return fmt.Errorf("%s: %w", chosen.source, err)
		}
		d.found.Token = FileToken(chosen.value)
		return nil
	}
	token := bearer(chosen.value)
	if err := checkToken(token); err != nil {
		return fmt.Errorf("%s: %w", chosen.source, err)
	}
	d.found.Token = StaticToken(token)
	return nil
}
