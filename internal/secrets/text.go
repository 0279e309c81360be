// Package secrets finds credentials by the names that they stand under and by their own shape, and masks them.
//
//	secrets.Text("cannot fetch https://ci:hunter2@git.example.net/a") // https://********@git.example.net/a
//	secrets.Named("DB_PASSWORD")                                      // true; "secretName" and "tokenUrl" only speak of one
//	v := secrets.Environ(os.Environ())                                // the values of variables with the name of a secret
//	v.Argv([]string{"deploy", "--token", "abc123"})                   // deploy --token ********
//
// What is masked by name is masked in doubt. No rule finds a secret that neither its name nor its shape gives away; whoever knows
// the value itself (a variable of the environment) hides it with a [Values].
//
// There is no state but in a Values, which does not change; all functions may be called from any goroutine. The rules are fuzzed
// here and, for objects of Kubernetes, in internal/argocd/redact.
package secrets

import (
	"regexp"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/lazy"
)

var (
	// RFC 3986: userinfo ends at the last @ before the path. A password with a slash in it
	// is wrong and common: where a port would be and no number is, it is one.
	userinfo = lazy.Regexp(`([a-zA-Z][a-zA-Z0-9+.-]*://)(?:([^\s/@:"'<>\\]*:[0-9]*[^0-9\s/@"'<>\\][^\s/"'<>\\]*/[^\s@"'<>\\]*(?:@[^\s/@"'<>\\]*)*)|([^\s/?#"'<>\\]+))@`)
	jwt      = lazy.Regexp(`eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?`)
	header   = lazy.Regexp(`(?i)\b(bearer\s+|authorization["']?\s*[:=]\s*["']?(?:basic|token|apikey)\s+)([A-Za-z0-9._~+/=-]{8,})`)
	keyBlock = lazy.Regexp(`-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,20}-----(?s:.*?)(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,20}-----|$)`)
	cookie   = lazy.Regexp(`(?i)\b((?:set-)?cookie["']?\s*:\s*["']?)([^\s"']+=[^\r\n"']+)`)
	queried  = lazy.Regexp(`([?&;](?i:key|sig|code|appid|[a-z-]{0,20}signature|hmac|se?cret|passwd|auth)=)([^&#\s"'<>]{16,})`)
	opaque   = lazy.Regexp(`(?i)\b((?:proxy-)?authorization["']?\s*[:=]\s*["']?)([A-Za-z0-9._~+/=-]{16,})`)
	assigned = lazy.Regexp(`([A-Za-z_][A-Za-z0-9_.-]{2,127})(\\*["']?)(\s{0,8}[=:]\s{0,8})("(?:\\.|[^"\\\n])*"?|'[^'\n]*'?|\\+"[^"\n]*"?|[^\s,;&"'(){}\[\]<>]+)`)
	yamlKind = lazy.Regexp(`(?m)^\s*(?:- +)?["']?kind["']?\s*:\s*["']?Secret["']?\s*,?\s*$`)
	yamlData = lazy.Regexp(`(?m)^\s*["']?(?:data|stringData)["']?\s*:`)
	jsonKind = lazy.Regexp(`\\*["']kind\\*["']\s*:\s*\\*["']Secret\\*["']`)
)

// Text returns s with the credentials masked that its shape gives away: userinfo of URLs,
// Bearer tokens, JWTs, private keys, tokens with a known prefix, NAME=value with the name of
// a secret; in texts of several lines also what follows such a name and a colon. It is for
// messages, events, logs and descriptions.
func Text(s string) string {
	safe, _ := MaskText(s)
	return safe
}

// Suspicious reports whether any rule for texts could match: a quick look that spares nearly all
// values of an object the rules.
func Suspicious(text []byte) bool {
	for i := range len(text) {
		switch text[i] {
		case ':', '=', '{', '[', '\\':
			return true
		case '_', '.', '-':
			// A token with a prefix has 14 bytes or more.
			if len(text) > 14 {
				return true
			}
		case ' ':
			if i > 5 && (text[i-1]|0x20) == 'r' && (text[i-2]|0x20) == 'e' {
				return true // "Bearer x"
			}
		}
	}
	// A token without any of these signs has a prefix in capitals (AKIA).
	return len(text) >= minRandom && tokenFormats().mayBegin(text)
}

// MaskText is [Text] and also returns the number of places that were masked. A text with the manifest of a Secret is masked whole, as one.
func MaskText(s string) (safe string, masked int) {
	// A manifest that is not valid JSON any more, or YAML: what is secret in it has no names
	// that say so.
	if strings.Contains(s, "Secret") &&
		(jsonKind().MatchString(s) || yamlKind().MatchString(s) && yamlData().MatchString(s)) {
		return Hidden, 1
	}
	count := func(whole, to string) string {
		if whole != to {
			masked++
		}
		return to
	}
	if strings.Contains(s, "PRIVATE KEY") {
		s = keyBlock().ReplaceAllStringFunc(s, func(m string) string { return count(m, Hidden) })
	}
	if strings.IndexByte(s, '\n') >= 0 && strings.IndexByte(s, ':') >= 0 {
		var n int
		s, n = maskLines(s)
		masked += n
	}
	if strings.Contains(s, "://") && strings.IndexByte(s, '@') >= 0 {
		s = replace(userinfo(), s, func(m []string) string {
			who := m[2] + m[3]
			// A user alone is a name, unless it is as long as a token.
			if who == "git" || strings.IndexByte(who, ':') < 0 && (strings.HasSuffix(strings.ToLower(m[1]), "ssh://") ||
				len(who) < minRandom && !strings.HasPrefix(strings.ToLower(m[1]), "http")) {
				return m[0]
			}
			return count(m[0], m[1]+Hidden+"@")
		})
	}
	if strings.Contains(s, "eyJ") {
		s = jwt().ReplaceAllStringFunc(s, func(m string) string { return count(m, Hidden) })
	}
	if containsAny(strings.ToLower(s), headerParts) {
		s = replace(header(), s, func(m []string) string {
			if strings.HasPrefix(strings.ToLower(m[1]), "bearer") && len(m[2]) < 16 && !strings.ContainsAny(m[2], "0123456789") {
				return m[0] // "bearer authentication"
			}
			return count(m[0], m[1]+Hidden)
		})
		s = replace(opaque(), s, func(m []string) string {
			if !random(m[2]) {
				return m[0]
			}
			return count(m[0], m[1]+Hidden)
		})
	}
	if strings.Contains(s, "ookie") || strings.Contains(s, "COOKIE") {
		s = replace(cookie(), s, func(m []string) string { return count(m[0], m[1]+Hidden) })
	}
	if strings.ContainsAny(s, "?&;") && strings.IndexByte(s, '=') >= 0 && containsAny(strings.ToLower(s), queryParts) {
		s = replace(queried(), s, func(m []string) string {
			if m[2] == Hidden || !random(m[2]) {
				return m[0]
			}
			return count(m[0], m[1]+Hidden)
		})
	}
	s, n := maskTokens(s)
	masked += n
	for i := range others {
		if o := &others[i]; len(s) >= o.min && strings.Contains(s, o.part) && (o.part != "." || hasRun(s, o.min)) {
			s = o.expr().ReplaceAllStringFunc(s, func(m string) string { return count(m, Hidden) })
		}
	}
	if strings.ContainsAny(s, "=:") && containsAny(strings.ToLower(s), nameParts) {
		var n int
		s, n = maskAssigned(s)
		masked += n
	}
	return s, masked
}

// others lists the tokens of well-known issuers that do not begin with a fixed text. part is in all of them.
var others = []struct {
	part string
	min  int
	expr func() *regexp.Regexp
}{
	{":AA", 42, lazy.Regexp(`\b[0-9]{8,10}:AA[A-Za-z0-9_-]{32,34}`)},                              // Telegram
	{".", 58, lazy.Regexp(`\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}`)}, // Discord
	{"Q~", 38, lazy.Regexp(`[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}`)},                     // Microsoft Entra
	{".atlasv1.", 80, lazy.Regexp(`[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}`)},             // Terraform
	{"-us", 36, lazy.Regexp(`\b[0-9a-f]{32}-us[0-9]{1,2}\b`)},                                     // Mailchimp
	{"_mmk", 40, lazy.Regexp(`\b[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk\b`)},                           // MaxMind
	{"SSWS ", 40, lazy.Regexp(`\bSSWS [A-Za-z0-9_-]{30,}`)},                                       // Okta
}

// hasRun reports whether n letters, digits, dots and dashes come in a row, which is rare in text.
func hasRun(s string, n int) bool {
	run := 0
	for i := range len(s) {
		if run++; !dotted.has(s[i]) {
			run = 0
		} else if run >= n {
			return true
		}
	}
	return false
}

// Every name that Named finds has one of these parts: a text without any, as most are, needs no expression.
var (
	nameParts   = []string{"pass", "pwd", "secret", "token", "cred", "key", "auth", "jwt", "bearer", "docker", "data"}
	headerParts = []string{"bearer", "authorization"}
	queryParts  = []string{"key=", "sig=", "code=", "appid=", "signature=", "hmac=", "cret=", "passwd=", "auth="}
)

func containsAny(s string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(s, part) })
}

// maskAssigned masks NAME=value, "name":"value" and name: value, and returns the number of values masked. After a name that is not that of a
// secret it goes on with the value: "url: https://x?token=y" has three names.
func maskAssigned(s string) (safe string, masked int) {
	var b strings.Builder
	from := 0
	for {
		at := assigned().FindStringSubmatchIndex(s[from:])
		if at == nil {
			break
		}
		part := func(i int) string { return s[from:][at[2*i]:at[2*i+1]] }
		name, quote, sign, value := part(1), part(2), part(3), part(4)
		end := at[8]
		b.WriteString(s[from : from+end])
		if mustMask(name, quote, sign, value) {
			open, shut := quotes(value)
			b.WriteString(open + Hidden + shut)
			masked++
			end = at[9]
		}
		from += end
	}
	if masked == 0 {
		return s, 0
	}
	b.WriteString(s[from:])
	return b.String(), masked
}

// mustMask reports whether the value of an assignment in a text is a secret: by its name, its form and the sign between them.
func mustMask(name, quote, sign, value string) bool {
	if strings.HasPrefix(value, "//") || strings.HasPrefix(value, "=") || Harmless(strings.Trim(value, `"'\`)) || strings.Contains(value, Hidden) || !Named(name) {
		return false
	}
	// "token: signature is invalid" is prose; "token=x", "\"token\":\"x\"" and
	// "password: x" are not.
	return !strings.Contains(sign, ":") || quote != "" || value[0] == '"' || value[0] == '\'' || showsSecret(name, sign, value)
}

// showsSecret reports whether "name: value" in prose shows a secret.
func showsSecret(name, sign, value string) bool {
	name = strings.ToLower(name)
	for _, end := range []string{"password", "passwd", "pwd", "passphrase", "api_key", "apikey", "api-key", "private_key", "secret_key", "access_key"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	// Without a space it is a tag of an image: "edge/auth:v3.24.10-rc.8".
	return strings.HasSuffix(sign, " ") && len(value) >= 12 && strings.ContainsAny(value, "0123456789")
}

// quotes returns the quotes around a value, so that it can be masked inside them.
func quotes(value string) (open, end string) {
	open = value[:len(value)-len(strings.TrimLeft(value, `"'\`))]
	if open != "" && len(value) > len(open) && strings.HasSuffix(value, open) {
		end = open
	}
	return open, end
}

// replace works like ReplaceAllStringFunc with submatches.
func replace(re *regexp.Regexp, s string, with func(m []string) string) string {
	var b strings.Builder
	from := 0
	for _, at := range re.FindAllStringSubmatchIndex(s, -1) {
		m := make([]string, len(at)/2)
		for i := range m {
			if at[2*i] >= 0 {
				m[i] = s[at[2*i]:at[2*i+1]]
			}
		}
		b.WriteString(s[from:at[0]])
		b.WriteString(with(m))
		from = at[1]
	}
	if from == 0 {
		return s
	}
	b.WriteString(s[from:])
	return b.String()
}

// Hidden replaces a masked value. Its length says nothing.
const Hidden = "********"

var yamlLine = lazy.Regexp(`^(\s*(?:- +)*)(["']?)([A-Za-z_][A-Za-z0-9_./-]{1,255})(["']?)(\s*:)(?:(\s+)(\S.*))?$`)

// lines holds the state while YAML is masked line by line.
type lines struct {
	out          strings.Builder
	masked       int
	block        int  // indentation of the name whose block ("|") is being left out, or -1
	namedSecrets int  // indentation of a name like "secrets" that has members, or -1
	pair         bool // the line before was "name: DB_PASSWORD"
}

// maskLines masks "name: value" as in YAML: values of Helm, patches of Kustomize, files in a ConfigMap. A block ends before the first line
// that is indented no deeper than its name.
func maskLines(s string) (safe string, masked int) {
	l := lines{block: -1, namedSecrets: -1}
	l.out.Grow(len(s))
	for line := range strings.Lines(s) {
		body := strings.TrimRight(line, "\r\n")
		l.maskLine(body, line[len(body):])
	}
	return l.out.String(), l.masked
}

// maskLine writes a line with the value masked if its name is that of a secret, and keeps track of the block that it begins or is in. It leaves out
// the lines of a block that is masked.
func (l *lines) maskLine(body, ending string) {
	trimmed := strings.TrimSpace(body)
	indent := len(body) - len(strings.TrimLeft(body, " \t"))
	if l.block >= 0 {
		if trimmed == "" || indent > l.block {
			return
		}
		l.block = -1
	}
	if l.namedSecrets >= 0 && trimmed != "" && indent <= l.namedSecrets {
		l.namedSecrets = -1
	}
	m := yamlLine().FindStringSubmatch(body)
	if m == nil {
		l.out.WriteString(body + ending)
		return
	}
	name, value := m[3], strings.TrimRight(m[7], " \t")
	bare := strings.Trim(value, `"'`)
	pair := l.pair && name == "value"
	l.pair = (name == "name" || name == "key") && PairNamed(bare)
	secret := Named(name)
	switch {
	case value == "":
		if secret && HoldsNamed(name) {
			l.namedSecrets = len(m[1])
		}
	case !pair && !secret && (l.namedSecrets < 0 || NamesOnly(name)), Harmless(bare), strings.ContainsRune("{[#&*", rune(value[0])), bare == "null", bare == "~":
	default:
		if value[0] == '|' || value[0] == '>' {
			l.block = len(m[1])
		}
		l.masked++
		l.out.WriteString(m[1] + m[2] + name + m[4] + m[5] + m[6] + Hidden + ending)
		return
	}
	l.out.WriteString(body + ending)
}
