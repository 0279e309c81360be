package toolbox

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/limit"
)

// block is one block of content.
type block struct {
	kind, mime, uri, name, title, description clipped
	text                                      clipped
	hasText, hasData                          bool
	data                                      int64  // bytes of an image or the like
	size                                      string // that what a link leads to is said to have
}

// block reads a block and adds what there is to read of it.
func (a *answer) block(s *scanner) error {
	if !s.is('{') {
		return s.skip()
	}
	small := clipped{max: maxSmall}
	b := &block{
		kind: small, mime: small, uri: small, name: small, title: small, description: small,
		text: clipped{max: max(0, a.text.max-len(a.text.b))},
	}
	if err := b.read(s, true); err != nil {
		return err
	}
	b.render(a)
	return nil
}

// read reads a block, and the resource within it.
func (b *block) read(s *scanner, outer bool) error {
	return s.object(func(key string) error {
		switch key {
		case "type":
			if outer {
				return s.word(&b.kind)
			}
		case "mimeType":
			return s.word(&b.mime)
		case "uri":
			return s.word(&b.uri)
		case "name":
			return s.word(&b.name)
		case "title":
			return s.word(&b.title)
		case "description":
			return s.word(&b.description)
		case "text":
			if s.is('"') {
				b.hasText = true
				return s.text(&b.text)
			}
		case "data", "blob":
			b.hasData = true
			return s.base64(&b.data)
		case "size":
			word := clipped{max: 20}
			err := s.raw(&word)
			if n, e := strconv.ParseInt(word.whole(), 10, 64); e == nil && n >= 0 {
				b.size = limit.Bytes(n).Human()
			}
			return err
		case "resource":
			if outer && s.is('{') {
				return b.read(s, false)
			}
		}
		return s.skip()
	})
}

// render adds the block: its text, or what it is where that is no text.
func (b *block) render(a *answer) {
	kind, size := string(b.kind.b), limit.Bytes(b.data).Human()
	const hidden = ": it cannot be shown here"
	switch {
	case kind == "text":
		a.add(&b.text)
	case kind == "resource_link":
		remark := listed("resource", first(b.title, b.name), string(b.uri.b), string(b.mime.b), b.size)
		if about := string(b.description.b); about != "" {
			remark += ": " + about
		}
		a.say(remark)
	case b.hasText:
		if uri := string(b.uri.b); uri != "" {
			a.say("resource, " + uri)
		}
		a.add(&b.text)
	case kind == "image", kind == "audio":
		a.say(listed(kind, string(b.mime.b), size) + hidden)
	case b.hasData:
		a.say(listed("data", string(b.uri.b), string(b.mime.b), size) + hidden)
	default:
		a.say(fmt.Sprintf("content of the kind %q", kind) + hidden)
	}
}

func first(all ...clipped) string {
	for _, c := range all {
		if len(c.b) > 0 {
			return string(c.b)
		}
	}
	return ""
}

// listed joins what is there.
func listed(what string, facts ...string) string {
	var b strings.Builder
	b.WriteString(what)
	for _, f := range facts {
		if f != "" {
			b.WriteString(", " + f)
		}
	}
	return b.String()
}
