package redact

import "github.com/plimsoll/plimsoll/internal/secrets"

// Value returns text as [Mask] shows it where it stands under name, as an annotation does:
// hidden when name is that of a secret, masked inside when it is JSON, else as [Text] does.
func Value(name, text string) string {
	if secrets.Named(name) && !secrets.Harmless(text) {
		return Hidden
	}
	if !secrets.Suspicious([]byte(text)) {
		return text
	}
	safe, _ := new(walker).content(text)
	return safe
}
