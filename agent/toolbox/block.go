package toolbox

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/internal/jsonstream"
	"github.com/plimsoll/plimsoll/limit"
)

// block is one block of content.
type block struct {
	kind, mime, uri, name, title, description jsonstream.Clip
	text                                      jsonstream.Clip
	hasText, hasData                          bool
	data                                      int64  // bytes of an image or the like
	size                                      string // of the linked resource, as the link says
}

// addBlock reads a block of content and appends its text, or a note about it. It skips what is no object.
func (a *answer) addBlock(s *jsonstream.Reader) error {
	if !s.Is('{') {
		return s.Skip()
	}
	small := jsonstream.Clip{Max: maxSmall}
	b := &block{
		kind: small, mime: small, uri: small, name: small, title: small, description: small,
		text: jsonstream.Clip{Max: max(0, a.text.Max-len(a.text.Text))},
	}
	if err := b.readFields(s, true); err != nil {
		return err
	}
	b.appendTo(a)
	return nil
}

// readFields reads a block, and with outer set also the resource within it.
func (b *block) readFields(s *jsonstream.Reader, outer bool) error {
	return s.Object(func(key string) error {
		switch key {
		case "type":
			if outer {
				return readString(s, &b.kind)
			}
		case "mimeType":
			return readString(s, &b.mime)
		case "uri":
			return readString(s, &b.uri)
		case "name":
			return readString(s, &b.name)
		case "title":
			return readString(s, &b.title)
		case "description":
			return readString(s, &b.description)
		case "text":
			if s.Is('"') {
				b.hasText = true
				return s.Text(&b.text)
			}
		case "data", "blob":
			b.hasData = true
			return decodedSize(s, &b.data)
		case "size":
			word := jsonstream.Clip{Max: 20}
			err := s.Copy(&word)
			if n, e := strconv.ParseInt(word.Whole(), 10, 64); e == nil && n >= 0 {
				b.size = limit.Bytes(n).Human()
			}
			return err
		case "resource":
			if outer && s.Is('{') {
				return b.readFields(s, false)
			}
		}
		return s.Skip()
	})
}

// appendTo appends the block to the answer: its text, or a note if it is not text.
func (b *block) appendTo(a *answer) {
	kind, size := string(b.kind.Text), limit.Bytes(b.data).Human()
	const hidden = ": it cannot be shown here"
	switch {
	case kind == "text":
		a.appendBlock(&b.text)
	case kind == "resource_link":
		remark := joinFacts("resource", firstText(b.title, b.name), string(b.uri.Text), string(b.mime.Text), b.size)
		if about := string(b.description.Text); about != "" {
			remark += ": " + about
		}
		a.addRemark(remark)
	case b.hasText:
		if uri := string(b.uri.Text); uri != "" {
			a.addRemark("resource, " + uri)
		}
		a.appendBlock(&b.text)
	case kind == "image", kind == "audio":
		a.addRemark(joinFacts(kind, string(b.mime.Text), size) + hidden)
	case b.hasData:
		a.addRemark(joinFacts("data", string(b.uri.Text), string(b.mime.Text), size) + hidden)
	default:
		a.addRemark(fmt.Sprintf("content of the kind %q", kind) + hidden)
	}
}

// firstText returns the first text that is not empty, else "".
func firstText(all ...jsonstream.Clip) string {
	for _, c := range all {
		if len(c.Text) > 0 {
			return string(c.Text)
		}
	}
	return ""
}

// joinFacts returns what and those facts that are not empty, separated by commas.
func joinFacts(what string, facts ...string) string {
	var b strings.Builder
	b.WriteString(what)
	for _, f := range facts {
		if f != "" {
			b.WriteString(", " + f)
		}
	}
	return b.String()
}

// readString reads a string into to, and skips any other value.
func readString(r *jsonstream.Reader, to *jsonstream.Clip) error {
	if r.Is('"') {
		return r.Text(to)
	}
	return r.Skip()
}

// decodedSize reads a string in base64 and sets *size to the number of bytes it stands for. It skips any other value.
func decodedSize(r *jsonstream.Reader, size *int64) error {
	if !r.Is('"') {
		return r.Skip()
	}
	if err := r.Take('"'); err != nil {
		return err
	}
	for n := int64(0); ; {
		c, err := r.Byte()
		switch {
		case err != nil:
			return err
		case c == '"':
			*size = n/4*3 + n%4*3/4
			return nil
		case c == '\\': // "\/", or a line break
			if c, err = r.Byte(); err != nil {
				return err
			}
			if c == '/' {
				n++
			}
		case c != '=' && c > ' ':
			n++
		}
	}
}
