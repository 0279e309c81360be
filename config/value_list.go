package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

func (k *Key) parseList(w written) (any, error) {
	example := k.example
	if example == "" {
		example = `["` + strings.Join(k.Choices, `", "`) + `"]`
	}
	items := w.items
	switch w.form {
	case formText:
		for part := range strings.SplitSeq(w.text, ",") {
			items = append(items, written{form: formText, text: strings.TrimSpace(part)})
		}
	case formList:
	default:
		return nil, k.wrong(w, "a list", example)
	}
	if len(items) == 0 || len(items) > maxItems {
		return nil, &misfit{fmt.Sprintf("a list of %d is out of range, 1 to %d", len(items), maxItems), fmt.Sprintf("write %s = %s", k.Name, example)}
	}
	out := make([]string, 0, len(items))
	for _, item := range items {
		if !item.isText() {
			return nil, k.wrong(item, "a string", example)
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

// parseItem reads one member of a list.
func (k *Key) parseItem(text, example string) (string, error) {
	fits, what := false, ""
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
		fits, what = text != "" && !strings.ContainsAny(text, "/\\ \x00@"), "the name of a host"
	case TypePatterns:
		fits, what = text != "" && len(text) <= maxToolText && !strings.ContainsAny(text, "\x00\n"), "the name of a tool or a pattern"
	case TypeArgv:
		fits, what = len(text) <= maxText && !strings.ContainsRune(text, 0), "an argument"
	case TypePairs:
		name, value, ok := strings.Cut(text, "=")
		fits, what = ok && name != "" && len(text) <= maxText && !strings.ContainsAny(name, " \t:\x00\n") && !strings.ContainsRune(value, 0), "NAME=VALUE"
	default:
		fits, what = text != "" && !strings.ContainsAny(text, "/\\\x00"), "the base name of a command"
	}
	if !fits {
		return "", &misfit{quote(text) + " is not " + what, fmt.Sprintf("write %s = %s", k.Name, example)}
	}
	return text, nil
}
