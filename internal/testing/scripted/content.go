package scripted

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	_ "image/gif" // the formats that the provider takes
	_ "image/jpeg"
	_ "image/png"
	"slices"
	"strings"
)

// Limits of images, from platform.claude.com, "Vision" (November 2026).
const (
	maxImages        = 100     // in one request
	maxImageBytes    = 5 << 20 // decoded
	maxPixels        = 8000    // of either side
	manyImages       = 20      // with more than this
	maxPixelsOfMany  = 2000    // either side may have so many
	minThinkingSpend = 1024    // tokens of thinking.budget_tokens
)

var imageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// checkContent checks a Messages request for what Options.Strict forbids beyond the validators: contents that every repetition of the history
// would have again.
func (p *Provider) checkContent(r *Request) error {
	no := func(format string, a ...any) error { return deny(CauseContent, fmt.Sprintf(format, a...)) }
	var system string
	if json.Unmarshal(r.top["system"], &system) == nil && system != "" && strings.TrimSpace(system) == "" {
		return no("system: text content blocks must contain non-whitespace text")
	}
	if err := checkPictures(r.list); err != nil {
		return err
	}
	if t := r.thinking(); t.Type == "enabled" {
		budget, err := t.Budget.Int64()
		switch {
		case err != nil || budget < minThinkingSpend:
			return no("thinking.enabled.budget_tokens: Input should be greater than or equal to %d", minThinkingSpend)
		case int64(r.MaxOutput) <= budget:
			return no("`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size")
		}
	}
	_, summarize := r.top["compaction"]
	if rule := p.rule(r.Model); rule.NoPrefill && !summarize && len(r.list) > 0 && p.parser.message(r.list[len(r.list)-1]).role == "assistant" {
		return no("This model does not support assistant message prefill. The conversation must end with a user message.")
	}
	return nil
}

// rule returns the one that a model is held to.
func (p *Provider) rule(model string) Rule {
	if p.o.Reasoning == nil {
		return RuleOf(model)
	}
	return p.o.Reasoning(model)
}

// A picture is an image of a request, with its size where it could be read.
type picture struct {
	place         string // of the block
	width, height int
}

// block is as much of a content block as the rules for images need.
type block struct {
	Type    string
	Content json.RawMessage
	Source  struct {
		Type, Data string
		MediaType  string `json:"media_type"`
	}
}

// checkPictures checks the images of the messages, those in results included, against the provider's limits.
func checkPictures(list []json.RawMessage) error {
	var all []picture
	for i, raw := range list {
		var message struct{ Content json.RawMessage }
		json.Unmarshal(raw, &message)
		if !bytes.Contains(message.Content, []byte(`"image"`)) {
			continue
		}
		for j, b := range blocksOf(message.Content) {
			place := fmt.Sprintf("messages.%d.content.%d", i, j)
			inner, within := []block{b}, ""
			if b.Type == "tool_result" {
				inner, within = blocksOf(b.Content), ".tool_result.content."
			}
			for k, b := range inner {
				if b.Type != "image" {
					continue
				}
				at := place
				if within != "" {
					at += within + fmt.Sprint(k)
				}
				one, err := b.picture(at)
				if err != nil {
					return err
				}
				all = append(all, one)
			}
		}
	}
	for _, one := range all {
		side := max(one.width, one.height)
		where := one.place + ".image.source.base64.data: At least one of the image dimensions exceed max allowed size"
		switch {
		case side > maxPixels:
			return deny(CauseContent, fmt.Sprintf("%s: %d pixels", where, maxPixels))
		case len(all) > manyImages && side > maxPixelsOfMany:
			return deny(CauseContent, fmt.Sprintf("%s for many-image requests: %d pixels", where, maxPixelsOfMany))
		}
	}
	if len(all) > maxImages {
		return deny(CauseContent, fmt.Sprintf("Too many images: %d > %d", len(all), maxImages))
	}
	return nil
}

func blocksOf(raw json.RawMessage) []block {
	var list []block
	json.Unmarshal(raw, &list)
	return list
}

func (b block) picture(place string) (picture, error) {
	one := picture{place: place}
	if b.Source.Type != "base64" {
		return one, nil // by address, or of a file: the provider fetches it
	}
	no := func(words string) (picture, error) { return one, deny(CauseContent, words) }
	if !slices.Contains(imageTypes, b.Source.MediaType) {
		return no(place + ".image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'")
	}
	data, err := base64.StdEncoding.DecodeString(b.Source.Data)
	switch {
	case err != nil:
		return no(place + ".image.source.base64.data: Invalid base64 data")
	case len(data) > maxImageBytes:
		return no(fmt.Sprintf("%s.image.source.base64: image exceeds 5 MB maximum: %d bytes > %d bytes", place, len(data), maxImageBytes))
	}
	width, height, kind := sizeOf(data)
	switch {
	case kind == "":
		return no("Could not process image")
	case "image/"+kind != b.Source.MediaType:
		return no(fmt.Sprintf("%s.image.source.base64.data: The image was specified using the %s media type, but the image appears to be a image/%s image", place, b.Source.MediaType, kind))
	}
	one.width, one.height = width, height
	return one, nil
}

// sizeOf reads the head of an image; kind is "" for what is none.
func sizeOf(data []byte) (width, height int, kind string) {
	if c, kind, err := image.DecodeConfig(bytes.NewReader(data)); err == nil {
		return c.Width, c.Height, kind
	}
	if len(data) < 30 || string(data[:4]) != "RIFF" || string(data[8:12]) != "WEBP" {
		return 0, 0, ""
	}
	little := binary.LittleEndian
	switch string(data[12:16]) { // RFC 9649
	case "VP8X":
		return 1 + int(little.Uint32(data[24:])&0xffffff), 1 + int(little.Uint32(append(bytes.Clone(data[27:30]), 0))), "webp"
	case "VP8L":
		bits := little.Uint32(data[21:])
		return 1 + int(bits&0x3fff), 1 + int(bits>>14&0x3fff), "webp"
	case "VP8 ":
		return int(little.Uint16(data[26:]) & 0x3fff), int(little.Uint16(data[28:]) & 0x3fff), "webp"
	}
	return 0, 0, ""
}
