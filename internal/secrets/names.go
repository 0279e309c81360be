package secrets

import (
	"strings"
	"unicode"
)

// Words that make a name the name of a secret, in the singular and lower case. Kubernetes,
// Argo CD, Helm charts and environment variables agree on them.
var (
	secretWords = wordSet("password passwd passphrase passcode pwd pass secret token credential cred " +
		"bearer jwt authorization apikey privatekey secretkey accesskey accesstoken clientsecret webhooksecret dockerconfigjson")
	// A word that ends in one of these is one of these ("dbpassword", "githubtoken").
	secretEnds = []string{"password", "passwd", "passphrase", "secret", "token", "credential", "apikey", "privatekey", "secretkey", "accesskey"}
	// "key" alone is a field of every selector. These before it make it a secret.
	keyWords = wordSet("api private secret access account encryption encrypt decryption signing sign ssh tls cert license " +
		"master auth client session cookie service storage shared hmac aes rsa ssl webhook deploy admin root server app")
	// A name that ends in one of these only describes a secret: its name, place, age or number.
	aboutWords = wordSet("name ref file path dir mount namespace enabled enable create type kind class version length size " +
		"ttl expiry expiration expire expires url uri endpoint policy count lifetime duration timeout interval refresh rotation store " +
		"provider selector pattern template format required allowed issuer audience algorithm annotation label id suffix prefix " +
		"review request reviewer projection permission scope mode stdin prompt limit budget command cmd helper")
	// With one of these before it a key opens nothing.
	openKeys = wordSet("public idempotency cache sort partition primary foreign routing object row hash group order")
	certData = wordSet("cadata certdata keydata") // of a cluster's tlsClientConfig
)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

// maxName bounds the part of a name that is looked at, its end. Names of Kubernetes have at most 253 bytes
// and a prefix of 253 more.
const maxName = 512

// words splits a name, where its case changes and at everything that is not a letter or digit, into words in lower case. It looks at no more than the
// last maxName bytes.
func words(name string) []string {
	if len(name) > maxName {
		name = name[len(name)-maxName:]
	}
	var list []string
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			list = append(list, strings.ToLower(word.String()))
			word.Reset()
		}
	}
	lower := false
	for i, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
			lower = false
			continue
		case unicode.IsUpper(r):
			// A capital begins a word after a small letter, and before one: "APIToken".
			next := strings.IndexFunc(name[i+1:], func(rune) bool { return true })
			if lower || word.Len() > 0 && next == 0 && i+1 < len(name) && name[i+1] >= 'a' && name[i+1] <= 'z' && name[i+1:] != "s" {
				end()
			}
			lower = false
		default:
			lower = true
		}
		word.WriteRune(r)
	}
	end()
	return list
}

// singular cuts the s off a word of more than four letters, unless it ends in ss.
func singular(word string) string {
	if len(word) > 4 && !strings.HasSuffix(word, "ss") {
		return strings.TrimSuffix(word, "s")
	}
	return word
}

func isSecretWord(word string) bool {
	word = singular(word)
	if secretWords[word] {
		return true
	}
	for _, end := range secretEnds {
		if strings.HasSuffix(word, end) {
			return true
		}
	}
	return false
}

// Named reports whether the content of a key or variable of this name is a secret.
func Named(name string) bool {
	if len(name) < 3 {
		return false
	}
	list := words(name)
	if len(list) == 0 {
		return false
	}
	last := singular(list[len(list)-1])
	if certData[strings.Join(list[max(0, len(list)-2):], "")] {
		return true
	}
	if last == "id" && len(list) > 2 && list[len(list)-2] == "key" && list[len(list)-3] == "access" {
		return true // half of a pair; scanners report it too
	}
	if aboutWords[last] {
		return false
	}
	// existingSecret and imagePullSecrets are names of Secrets.
	if list[0] == "existing" || len(list) > 1 && last == "secret" && list[len(list)-2] == "pull" {
		return false
	}
	if len(list) == 1 && last == "auth" {
		return true // of a Docker registry: user and password in base64
	}
	if last == "key" && len(list) > 1 && keyWords[singular(list[len(list)-2])] {
		return true
	}
	for i, word := range list {
		if isSecretWord(word) && !(i+1 < len(list) && singular(word) == "pass" && list[i+1] == "through") {
			return true
		}
	}
	return false
}

// PairNamed is [Named] for {"name":…,"value":…}: here a name that ends in key is also one of a secret, unless the word before makes it
// public.
func PairNamed(name string) bool {
	if Named(name) {
		return true
	}
	list := words(name)
	return len(list) > 1 && singular(list[len(list)-1]) == "key" && !openKeys[list[len(list)-2]]
}

// NumbersToo reports whether a number under this secret name is the secret, not a count: "password": 123456, but "maxTokens": 4096.
func NumbersToo(name string) bool {
	list := words(name)
	return len(list) > 0 && !strings.HasSuffix(list[len(list)-1], "tokens") && list[0] != "max" && list[0] != "min"
}

// Flag reports whether an argument of a command is a flag whose value, the next argument, is a secret.
func Flag(arg string) bool {
	if len(arg) <= 2 || len(arg) >= maxName || arg[0] != '-' || strings.ContainsAny(arg, "=/: \n") || !Named(arg) {
		return false
	}
	return !switches[words(arg)[0]] // --no-password, --ask-pass, --show-secrets take no value
}

var switches = wordSet("no skip without disable allow show hide list print require ignore ask prompt export import delete remove rotate revoke refresh create generate")

// Harmless reports whether a value is shown even under a secret name: an empty text, a boolean, a mask.
func Harmless(s string) bool {
	switch s {
	case "", "true", "false", Hidden:
		return true
	}
	// Argo CD covers the data of a Secret with plus signs; equal values have equally many.
	return len(s) >= 8 && strings.Trim(s, "+") == ""
}

// HoldsNamed reports whether the members below a secret name are secrets under names of their own:
// "secrets": {"db": "hunter2"}.
func HoldsNamed(name string) bool {
	list := words(name)
	if len(list) == 0 {
		return false
	}
	switch singular(list[len(list)-1]) {
	case "secret", "credential", "password", "token":
		return true
	}
	return false
}

// NamesOnly reports whether a member below such a name only describes the secret; true for a name without words.
func NamesOnly(name string) bool {
	list := words(name)
	if len(list) == 0 {
		return true
	}
	last := singular(list[len(list)-1])
	return aboutWords[last] || last == "key" || last == "username" || last == "optional" || list[0] == "existing"
}
