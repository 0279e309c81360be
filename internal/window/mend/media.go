package mend

import (
	"bytes"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/window/wire"
)

// replacementFor returns the line that takes the place of an image or document in part j of message i that the provider refuses, "" if it
// may stay. The block must have media.
func (m *mending) replacementFor(i, j int, block wire.Span) string {
	o := &m.o
	if !o.NoImages && !o.NoFetched && !o.NoDocuments && len(o.NoTypes) == 0 || m.r.Body[block.Start] != '{' {
		return ""
	}
	kind, mime, fetched := m.mediaOf(m.r.Raw(block))
	switch {
	case kind == "image" && o.NoImages:
		return "[An image stood here, which the model cannot see.]"
	case kind == "document" && o.NoDocuments && (o.Place == nil || *o.Place == Place{Message: i, Part: j}):
		return "[A document stood here, which the provider could not read.]"
	case slices.Contains(o.NoTypes, mime):
		return "[A file of the type " + cleanType(mime) + " stood here, which the provider does not take.]"
	case kind == "image" && fetched && o.NoFetched:
		return "[An image stood here, which the provider could not fetch.]"
	}
	return ""
}

// mediaOf returns what a block holds, "image", "document" or "" for neither, its media type in lower case, "" if it says none, and whether
// the provider fetches it by its address.
func (m *mending) mediaOf(raw []byte) (kind, mime string, fetched bool) {
	says, _ := rawjson.Text(raw, "type")
	switch says {
	case "image", "image_url", "input_image":
		kind = "image"
	case "document", "file", "input_file":
		kind = "document"
	}
	for member, err := range rawjson.Members(raw, 0) {
		if err != nil {
			return "", "", false
		}
		value := member.Value.Of(raw)
		text := func(keys ...string) string { s, _ := rawjson.Text(value, keys...); return s }
		switch string(member.Key) {
		case "source": // Anthropic
			mime, fetched = text("media_type"), text("type") == "url"
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
				fetched = text("fileUri") != "" || text("file_uri") != ""
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
			mime = dataType(value)
			fetched = mime == "" && len(value) > 2
		case "file_url":
			fetched = true
		}
	}
	return kind, strings.ToLower(mime), fetched
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
