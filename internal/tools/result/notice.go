package result

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/spool"
)

// MetaKey is the name of the member of a result's _meta that describes the page.
const MetaKey = "plimsoll/result"

// View is a page of a kept result, with the totals of the result and the names of the tools that read it.
type View struct {
	Handle string
	Page   spool.Page
	Totals spool.Totals
	Names  Names
}

// names returns the names of the tools, with the defaults for those that are missing.
func (v *View) names() Names {
	n := v.Names
	n.Page = cmp.Or(n.Page, DefaultNames.Page)
	n.Search = cmp.Or(n.Search, DefaultNames.Search)
	n.Query = cmp.Or(n.Query, DefaultNames.Query)
	return n
}

// complete reports whether the result has come to its end, unbroken.
func (v *View) complete() bool { return v.Page.Complete && v.cut() == "" }

// cut returns the reason why the result broke off; "" if it did not.
func (v *View) cut() string {
	if v.Page.Cut != "" {
		return v.Page.Cut
	}
	return v.Totals.Cut
}

// meta returns the value of MetaKey, as JSON: exactly these members, sizes in bytes. sha256 is that of the whole document, left out until
// the document is complete: results with the same sum have the same content, whatever their handles.
func (v *View) meta() []byte {
	b := append([]byte(nil), `{"handle":`...)
	b = rawjson.Quote(b, v.Handle)
	b = fmt.Appendf(b, `,"bytes":%d,"total_items":%d,"page":%d,"page_size":%d,"total_pages":%d,"complete":%t`,
		v.Totals.Bytes, v.Page.TotalItems, v.Page.Number, v.Page.Size, v.Page.TotalPages, v.complete())
	if v.Totals.SHA256 != "" && v.complete() {
		b = fmt.Appendf(b, `,"sha256":%q`, v.Totals.SHA256)
	}
	return append(b, '}')
}

// Notice returns the text that says of what result this is a page, and which call returns the next one. Sentences that do not fit into
// MaxNotice bytes are left out; the last ones matter least.
func (v *View) Notice() string {
	var (
		p, t, n = v.Page, v.Totals, v.names()
		handle  = string(rawjson.Quote(nil, v.Handle))
		noun    = t.Shape.Noun()
		so      = ""
		text    string
	)
	say := func(format string, args ...any) {
		if more := fmt.Sprintf(format, args...); len(text)+len(more) <= MaxNotice {
			text += more
		}
	}
	if !p.Complete {
		so = " so far"
	}
	shown := fmt.Sprintf("%s %d-%d of %d", noun, p.From, p.To, p.TotalItems)
	if p.TotalItems == 0 {
		shown = "no " + noun
	}
	own, isServers := v.serverPage()
	if isServers { // "of 100" must not read as a total: it is the number on this page of the server
		say("[plimsoll] Part %d of %d%s of the server's own page%s: %s on it (%s).", p.Number, max(1, p.TotalPages), so, own, shown, limit.Bytes(t.Bytes).Human())
	} else {
		say("[plimsoll] Page %d of %d%s: %s (%s in all%s).", p.Number, max(1, p.TotalPages), so, shown, limit.Bytes(t.Bytes).Human(), so)
	}
	switch {
	case v.cut() != "":
		say(" The result is incomplete: it broke off there.")
	case !p.Complete:
		say(" The server is still sending.")
	}
	if p.HasNext() {
		size := ""
		if t.PageItems > 0 && p.Size != t.PageItems { // pages of another size have other numbers
			size = fmt.Sprintf(",\"page_size\":%d", p.Size)
		}
		if isServers {
			say(" Next part: %s {\"handle\":%s,\"page\":%d%s}. Read the parts to their end before you ask the server for its next page.", n.Page, handle, p.Number+1, size)
		} else {
			say(" Next page: %s {\"handle\":%s,\"page\":%d%s}.", n.Page, handle, p.Number+1, size)
		}
	} else if isServers {
		say(" That is all of it; the server's next page comes by a call of the tool itself.")
	}
	say(" To find something, %s {\"handle\":%s,\"pattern\":\"REGEX\"} costs less than paging", n.Search, handle)
	if p.JSON {
		say("; %s {\"handle\":%s,\"query\":%s} takes jq", n.Query, handle, strconv.Quote(example(t)))
	}
	say(".")
	if p.Omitted > 0 {
		say(" %d %s larger than a page: stubs stand for them, and %s with a stub's \"offset\" reads one.", p.Omitted, noun, n.Page)
	}
	if t.More() > minText && p.Complete { // less than that is delivered beside the page
		say(" Beside this document %s of other content are kept.", limit.Bytes(t.More()).Human())
	}
	return text
}

// serverPage reports whether the document is itself one of several pages on the server. how has the arguments by which the call asked for
// it, in brackets after a space; "" if it had none.
func (v *View) serverPage() (how string, is bool) {
	if v.Totals.ServerPage != "" {
		return " (" + v.Totals.ServerPage + ")", true
	}
	items := v.Totals.Items
	if !v.Page.Complete {
		items = math.MaxInt64 // nobody knows yet how many come
	}
	return "", v.Page.JSON && serverHasMore(v.Page.Text, items)
}

// example returns a jq query that suits the document; "." if a path would not do.
func example(t spool.Totals) string {
	path := "."
	for _, key := range t.Path {
		if !plainKey(key) {
			return "."
		}
		if path != "." {
			path += "."
		}
		path += key
	}
	if t.Shape == spool.Array {
		if path += "[]"; len(path) < 60 {
			return path
		}
	}
	if len(path) < 60 {
		return path
	}
	return "."
}

// plainKey reports whether a key can be written after a dot in a jq program.
func plainKey(key string) bool {
	for i, c := range []byte(key) {
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return key != ""
}
