package config

import (
	"encoding/json"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"github.com/plimsoll/plimsoll/internal/shellwords"
)

// Words that stand for a way to give notices.
const (
	noticeOff     = "off"
	noticeDesktop = "desktop"
)

// NoticeWay is the way in which notices are given: empty for none, "desktop" alone, a URL alone, or a command with its arguments.
type NoticeWay []string

// String returns the way on one line, as a flag takes it. Only scheme and host of a URL are shown, because the rest may be a credential.
func (n NoticeWay) String() string {
	switch {
	case len(n) == 0:
		return noticeOff
	case len(n) == 1 && hasScheme(n[0]):
		return shownURL(n[0])
	}
	words := make([]string, len(n))
	for i, w := range n {
		words[i] = quoteWord(w)
	}
	return strings.Join(words, " ")
}

// MarshalJSON implements json.Marshaler. It writes the result of String.
func (n NoticeWay) MarshalJSON() ([]byte, error) { return json.Marshal(n.String()) }

// shownURL returns the scheme and host of a URL, and an ellipsis for the rest if there is any; "URL" for what has no host.
func shownURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "URL"
	}
	shown := u.Scheme + "://" + u.Host
	if u.Path != "" && u.Path != "/" || u.RawQuery != "" {
		shown += "/…"
	}
	return shown
}

// quoteWord returns a word so quoted that [shellwords.Split] reads it back.
func quoteWord(w string) string {
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-./:=,@%+…", r)
	}
	if w != "" && strings.IndexFunc(w, func(r rune) bool { return !plain(r) }) < 0 {
		return w
	}
	return shellwords.Quote(w)
}

// hasScheme reports whether text begins with ASCII letters or digits and "://". Empty schemes and those with + . or - are none.
func hasScheme(text string) bool {
	scheme, _, ok := strings.Cut(text, "://")
	return ok && scheme != "" && strings.IndexFunc(scheme, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) }) < 0
}

// maxNoticeWords bounds the words of a command for notices.
const maxNoticeWords = 64

// parseNotify returns a [NoticeWay] from a list, a URL, or one line of text that is split into words as a shell does; an empty one for nothing and
// off. Anything else is a *misfit.
func (k *Key) parseNotify(w written) (any, error) {
	fix := `write notify = "desktop", "https://…" or ["/path/of/program", "argument"]`
	var words []string
	switch {
	case w.form == formList:
		for _, item := range w.items {
			if !item.isText() {
				return nil, k.misfitFor(item, "a string", k.example)
			}
			words = append(words, item.text)
		}
	case w.isText() && hasScheme(strings.TrimSpace(w.text)):
		words = []string{strings.TrimSpace(w.text)} // a query may hold what a shell would read
	case w.isText():
		var err error
		if words, err = shellwords.Split(w.text); err != nil {
			return nil, &misfit{quote(w.text) + ": " + err.Error(), fix}
		}
	default:
		return nil, k.misfitFor(w, "desktop, a URL or a command", k.example)
	}
	if len(words) == 0 || len(words) == 1 && (words[0] == "" || words[0] == noticeOff) {
		return NoticeWay(nil), nil
	}
	if len(words) > maxNoticeWords {
		return nil, &misfit{"a command of " + strconv.Itoa(len(words)) + " words is out of range, 1 to " + strconv.Itoa(maxNoticeWords), fix}
	}
	for _, word := range words {
		if len(word) > maxText || strings.ContainsRune(word, 0) {
			return nil, &misfit{"an argument is too long or has a zero byte in it", fix}
		}
	}
	return noticeWay(words, fix)
}

// noticeWay returns the words, of which there is at least one, as a [NoticeWay], or a *misfit if they are not a valid one.
func noticeWay(words []string, fix string) (any, error) {
	program := words[0]
	switch {
	case hasScheme(program):
		u, err := url.Parse(program)
		switch {
		case err != nil:
			return nil, &misfit{"the URL cannot be read", fix} // not repeated: it may hold a token
		case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "":
			return nil, &misfit{quote(u.Scheme+"://"+u.Host) + " is not a URL with http or https and a host", fix}
		case u.User != nil:
			return nil, &misfit{"a user name or password does not belong into the URL of notices", "give the token in its path or query, or name a command"}
		case strings.ContainsFunc(program, unicode.IsSpace):
			return nil, &misfit{"there is a space in the URL", fix}
		case u.Fragment != "":
			return nil, &misfit{quote(shownURL(program)) + " has a fragment behind it", "leave out the # and what follows"}
		case len(words) > 1:
			return nil, &misfit{"a URL takes no arguments", fix}
		}
		if port := u.Port(); port != "" {
			if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
				return nil, &misfit{quote(port) + " is not a port", fix}
			}
		}
	case program == noticeDesktop && len(words) > 1:
		return nil, &misfit{"desktop takes no arguments", fix}
	case strings.TrimSpace(program) == "":
		return nil, &misfit{"the command has no name", fix}
	case filepath.Base(program) != program && !filepath.IsAbs(program):
		// It would be another program in every project.
		return nil, &misfit{quote(program) + " is not an absolute path, nor a name that is looked for in PATH", "write the whole path"}
	}
	return NoticeWay(words), nil
}
