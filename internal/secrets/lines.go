package secrets

import (
	"strings"

	"github.com/plimsoll/plimsoll/internal/lazy"
)

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
		l.line(body, line[len(body):])
	}
	return l.out.String(), l.masked
}

func (l *lines) line(body, ending string) {
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
