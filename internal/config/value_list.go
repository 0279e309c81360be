package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// parseList returns the members as []string: 1 to maxItems, none twice unless they are arguments. Anything else is a *misfit.
func (k *Key) parseList(w written) (any, error) {
	example := k.example
	if example == "" {
		example = `["` + strings.Join(k.Choices, `", "`) + `"]`
	}
	items := w.items
	switch w.form {
	case formText:
		for _, member := range splitMembers(w.text) {
			items = append(items, written{form: formText, text: member})
		}
	case formList:
	default:
		return nil, k.misfitFor(w, "a list", example)
	}
	if len(items) == 0 || len(items) > maxItems {
		return nil, &misfit{fmt.Sprintf("a list of %d is out of range, 1 to %d", len(items), maxItems), fmt.Sprintf("write %s = %s", k.Name, example)}
	}
	out := make([]string, 0, len(items))
	for _, item := range items {
		if !item.isText() {
			return nil, k.misfitFor(item, "a string", example)
		}
		text, err := k.parseItem(item.text, example)
		if err != nil {
			return nil, err
		}
		if k.Type != TypeArgv && slices.Contains(out, text) {
			return nil, &misfit{quote(text) + " is listed twice", "write it once"}
		}
		out = append(out, text)
	}
	return out, nil
}

// parseItem parses one member of a list, and returns it in normal form.
func (k *Key) parseItem(text, example string) (string, error) {
	fits, what := false, ""
	blank := strings.TrimSpace(text) == "" // names nothing, and nobody would see it in a message
	switch k.Type {
	case TypeChoices:
		v, err := k.choose(text)
		if err != nil {
			return "", err
		}
		return v.(string), nil
	case TypeOrigins:
		u, err := url.Parse(text)
		fits = err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.Scheme+"://"+u.Host == text
		what = "an origin"
	case TypeHosts:
		text = strings.ToLower(text)
		fits, what = !blank && !strings.ContainsAny(text, "/\\ \x00@"), "the name of a host"
	case TypeNetworks:
		text = strings.ToLower(text)
		text, fits = parseNetwork(text)
		what = "the name of a host, an address or a network, without a port"
	case TypePatterns:
		fits, what = !blank && len(text) <= maxToolText && !strings.ContainsAny(text, "\x00\n"), "the name of a tool or a pattern"
	case TypeArgv:
		fits, what = len(text) <= maxText && !strings.ContainsRune(text, 0), "an argument"
	case TypeServers:
		fits, what = SafeName(text) == text, "the name of an MCP server"
	case TypePairs:
		name, value, ok := strings.Cut(text, "=")
		fits, what = ok && name != "" && len(text) <= maxText && !strings.ContainsAny(name, " \t:\x00\n") && !strings.ContainsRune(value, 0), "NAME=VALUE"
	default:
		fits, what = !blank && !strings.ContainsAny(text, "/\\\x00"), "the base name of a command"
	}
	if !fits {
		return "", &misfit{quote(text) + " is not " + what, fmt.Sprintf("write %s = %s", k.Name, example)}
	}
	return text, nil
}

// splitMembers splits one line of text, "a, b", into the members of a list; an empty text is one empty member. That is the form in variables and
// flags, and of joinMembers. A member in double quotes may hold commas and outer blanks.
func splitMembers(text string) []string {
	var out []string
	for more := true; more; {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
		var member string
		if quoted, rest, ok := cutQuoted(text); ok {
			member, text, more = quoted, strings.TrimPrefix(rest, ","), rest != ""
		} else {
			member, text, more = strings.Cut(text, ",")
			member = strings.TrimSpace(member)
		}
		out = append(out, member)
	}
	return out
}

// cutQuoted cuts a member in double quotes from the start of a text; rest is empty or begins with the comma. ok is false for anything else,
// also for "a" b.
func cutQuoted(text string) (member, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		return "", "", false
	}
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil {
		return "", "", false
	}
	rest = strings.TrimLeftFunc(text[len(quoted):], unicode.IsSpace)
	if rest != "" && rest[0] != ',' {
		return "", "", false
	}
	member, err = strconv.Unquote(quoted)
	return member, rest, err == nil
}

// joinMembers joins the members of a list into one line that splitMembers splits again. Members are quoted only if they have to be.
func joinMembers(members []string) string {
	shown := make([]string, 0, len(members))
	for _, m := range members {
		if m == "" || strings.TrimSpace(m) != m || strings.Contains(m, ",") || strings.HasPrefix(m, `"`) {
			m = strconv.Quote(m)
		}
		shown = append(shown, m)
	}
	return strings.Join(shown, ", ")
}

// parseNetwork returns a host, an address or a network (10.0.0.0/8) in normal form; false if the text is none of them.
func parseNetwork(text string) (string, bool) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Masked().String(), true
	}
	if a, err := netip.ParseAddr(text); err == nil {
		return a.Unmap().String(), a.Zone() == ""
	}
	// A name of digits and dots alone is an address with a mistake in it.
	return strings.TrimSuffix(text, "."), !strings.ContainsAny(text, "/\\ \x00@:*[]") && strings.ContainsFunc(text, unicode.IsLetter)
}
