package mend

import (
	"bytes"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/window/wire"
)

// surplusImage replaces one of too many images.
const surplusImage = "[An image stood here; the request had too many.]"

// replacementFor returns the text that replaces an image or document in part j of message i, "" if the provider does not refuse it. block
// must contain media. It counts down the images of which there are too many, where nothing else is looked for in images.
func (m *mending) replacementFor(i, j int, block wire.Span) string {
	o := &m.o
	surplus := m.surplus > 0 && len(m.rules.pictures.types) == 0 // else mendPicture takes them
	if !surplus && !o.NoImages && !o.NoFetched && !o.NoDocuments && !o.OldDocuments && len(o.NoTypes) == 0 && len(o.NoURLs) == 0 || m.r.Body[block.Start] != '{' {
		return ""
	}
	kind, mime, url := m.mediaOf(m.r.Raw(block))
	refused := func(address string) bool { return strings.EqualFold(address, url) }
	switch {
	case kind == "image" && o.NoImages:
		return "[An image stood here, which the model cannot see.]"
	case kind == "document" && o.NoDocuments && (o.Place == nil || *o.Place == Place{Message: i, Part: j}):
		return "[A document stood here, which the provider could not read.]"
	case kind == "document" && o.OldDocuments && m.hasLaterDocument(i, j):
		return "[A document stood here; the request had too many pages.]"
	case slices.Contains(o.NoTypes, mime):
		return "[A file of the type " + cleanType(mime) + " stood here, which the provider does not take.]"
	case url != "" && (kind == "image" && o.NoFetched || slices.ContainsFunc(o.NoURLs, refused)):
		return "[A file stood here, which the provider could not fetch.]"
	case kind == "image" && surplus:
		m.surplus--
		return surplusImage
	}
	return ""
}

// hasLaterDocument reports whether any part after part j of message i is or contains a document.
func (m *mending) hasLaterDocument(i, j int) bool {
	for k := len(m.r.Messages) - 1; k >= i; k-- {
		parts := m.r.Messages[k].Parts
		for n := len(parts) - 1; n >= 0 && (k > i || n > j); n-- {
			if p := &parts[n]; len(p.Media) > 0 && m.hasDocument(p) {
				return true
			}
		}
	}
	return false
}

// hasDocument reports whether a part is a document, or a result that contains one.
func (m *mending) hasDocument(p *wire.Part) bool {
	if p.Kind == wire.Media {
		kind, _, _ := m.mediaOf(m.r.Raw(p.Span))
		return kind == "document"
	}
	if p.Kind != wire.Result || p.Content.IsZero() || m.r.Body[p.Content.Start] != '[' {
		return false
	}
	for _, at := range m.listOf(p.Content).at {
		if m.r.Body[at.Start] != '{' {
			continue
		}
		if kind, _, _ := m.mediaOf(m.r.Raw(at)); kind == "document" {
			return true
		}
	}
	return false
}

// mediaOf returns what a block contains: kind is "image", "document" or "" for neither, mime its media type in lower case, "" if it names
// none, and url the address from which the provider is to fetch it, "" if the block contains the file.
func (m *mending) mediaOf(raw []byte) (kind, mime, url string) {
	says, _ := rawjson.Text(raw, "type")
	switch says {
	case "image", "image_url", "input_image":
		kind = "image"
	case "document", "file", "input_file":
		kind = "document"
	}
	for member, err := range rawjson.Members(raw, 0) {
		if err != nil {
			return "", "", ""
		}
		value := member.Value.Of(raw)
		text := func(keys ...string) string { s, _ := rawjson.Text(value, keys...); return s }
		switch string(member.Key) {
		case "source": // Anthropic
			mime, url = text("media_type"), text("url")
		case "image", "document": // Bedrock
			if says == "" && value[0] == '{' {
				kind = string(member.Key)
			}
		case "inlineData", "inline_data", "fileData", "file_data": // Gemini; the last is a data URL in OpenAI's
			if value[0] == '{' {
				mime = text("mimeType")
				if mime == "" {
					mime = text("mime_type")
				}
				if url = text("fileUri"); url == "" {
					url = text("file_uri")
				}
				if kind = "document"; strings.HasPrefix(mime, "image/") {
					kind = "image"
				}
			} else {
				mime = dataType(value)
			}
		case "image_url":
			if value[0] == '{' {
				value = rawjson.Get(value, "url").Of(value)
			}
			if mime = dataType(value); mime == "" && len(value) > 2 && value[0] == '"' {
				url = string(wire.Unquote(nil, value))
			}
		case "file_url":
			url = text()
		}
	}
	return kind, strings.ToLower(mime), url
}

// dataType returns the media type of a literal with a data URL, "" for any other.
func dataType(literal []byte) string {
	_, rest, ok := bytes.Cut(literal[:min(len(literal), 128)], []byte(`"data:`))
	if !ok {
		return ""
	}
	if end := bytes.IndexAny(rest, `;,"`); end >= 0 {
		rest = rest[:end]
	}
	return strings.ReplaceAll(string(rest), `\/`, "/")
}
