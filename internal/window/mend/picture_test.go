package mend_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/window/mend"
	"github.com/plimsoll/plimsoll/window/wire"
)

// sides are the sizes of the images of a request, as they decode, and their types as they say and are.
func sides(t *testing.T, body []byte) (list []image.Point, kinds []string) {
	t.Helper()
	for rest := body; ; {
		at := bytes.Index(rest, []byte(`"media_type":"`))
		if at < 0 {
			return list, kinds
		}
		rest = rest[at+len(`"media_type":"`):]
		kind := string(rest[:bytes.IndexByte(rest, '"')])
		_, after, _ := bytes.Cut(rest, []byte(`"data":"`))
		raw, err := base64.StdEncoding.DecodeString(string(after[:bytes.IndexByte(after, '"')]))
		if err != nil {
			t.Fatal(err)
		}
		img, format, err := image.Decode(bytes.NewReader(raw))
		if err != nil {
			t.Fatalf("an image that does not decode: %v", err)
		}
		list, kinds = append(list, img.Bounds().Size()), append(kinds, kind+" "+format)
	}
}

func TestPictures(t *testing.T) {
	opus := mend.Options{Provider: "anthropic", Model: "claude-opus-4-8"}
	jpg := encoded("image/jpeg", painted(40, 30))
	for _, c := range []struct {
		name, kind, data string
		size             image.Point // zero: a line stands there
		is, line         string
	}{
		{"in order", "image/jpeg", jpg, image.Pt(40, 30), "image/jpeg jpeg", ""},
		{"lossy WebP", "image/webp", webpLossy, image.Pt(1, 1), "image/webp webp", ""},
		{"lossless WebP", "image/webp", webpLossless, image.Pt(1, 1), "image/webp webp", ""},
		{"another type than it says", "image/png", jpg, image.Pt(40, 30), "image/jpeg jpeg", ""},
		{"a type that nobody knows", "image/jpg", jpg, image.Pt(40, 30), "image/jpeg jpeg", ""},
		{"GIF", "image/png", encoded("image/gif", painted(20, 10)), image.Pt(20, 10), "image/gif gif", ""},
		{"high", "image/png", encoded("image/png", painted(20, 8100)), image.Pt(4, 2000), "image/jpeg jpeg", ""},
		{"wide", "image/png", flat(12000, 300), image.Pt(2000, 50), "image/jpeg jpeg", ""},
		{"too large to decode", "image/png", flat(9000, 2000), image.Point{}, "", "[An image of 9,000 x 2,000 pixels stood here; the provider takes at most 8,000 on a side.]"},
		{"no image", "image/png", "bm90IGEgcG5n", image.Point{}, "", "[An image that could not be read stood here.]"},
		{"no base64", "image/png", "not base64!", image.Point{}, "", "[An image that could not be read stood here.]"},
		{"a PDF", "application/pdf", "JVBERi0=", image.Point{}, "", "[A file of the type application/pdf stood here, where only images may.]"},
		{"SVG", "image/svg+xml", base64.StdEncoding.EncodeToString([]byte("<svg/>")), image.Point{}, "", "[An image that could not be read stood here.]"},
		{"HEIC", "image/heic", base64.StdEncoding.EncodeToString([]byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1")), image.Point{}, "", "[An image of the type image/heic stood here, which the provider does not take.]"},
		{"half a JPEG", "image/jpeg", jpg[:16], image.Point{}, "", "[An image that could not be read stood here.]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			block := pictureOf(c.kind, c.data)
			for _, body := range []string{
				messages(hello, said, one(block)),
				messages(hello, using, returned(`[`+block+`,{"type":"text","text":"x"}]`)),
			} {
				next, actions := fix(t, wire.Messages, body, opus)
				if c.line != "" {
					if !bytes.Contains(next.Body, wire.Quote(nil, c.line)) || kinds(actions) != mend.Described {
						t.Errorf("%v: %.300s", actions, next.Body)
					}
				} else if got, is := sides(t, next.Body); len(got) != 1 || got[0] != c.size || is[0] != c.is {
					t.Errorf("%v: %v, %v", actions, got, is)
				}
				if said := strict(wire.Messages, "claude-opus-4-8", next.Body); said != "" {
					t.Errorf("it is refused: %s", said)
				}
			}
		})
	}
}

// Over 5 MB of base64 an image is made smaller until it fits.
func TestHeavyPicture(t *testing.T) {
	noise := image.NewRGBA(image.Rect(0, 0, 1300, 1300))
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range noise.Pix {
		noise.Pix[i] = byte(rng.Uint32()) | byte(i&3/3*255)
	}
	data := encoded("image/png", noise)
	if len(data) <= 5<<20 {
		t.Fatalf("the image is only %d", len(data))
	}
	next, actions := fix(t, wire.Messages, messages(one(pictureOf("image/png", data))), mend.Options{Provider: "anthropic"})
	if got, _ := sides(t, next.Body); kinds(actions) != "scaled" || got[0] != image.Pt(1300, 1300) || len(next.Body) > 5<<20 {
		t.Errorf("%v, %d bytes, %v", actions, len(next.Body), got)
	}
}

// A scaled image shows what the large one showed, on white.
func TestScaledShowsTheSame(t *testing.T) {
	src := image.NewNRGBA(image.Rect(0, 0, 8200, 820))
	for y := range 820 {
		for x := range 4100 {
			src.Pix[src.PixOffset(x, y)], src.Pix[src.PixOffset(x, y)+3] = 200, 255 // red on the left, transparent on the right
		}
	}
	next, _ := fix(t, wire.Messages, messages(one(pictureOf("image/png", encoded("image/png", src)))), mend.Options{Provider: "anthropic"})
	data, _ := rawjson.Text(next.Raw(next.Messages[0].Parts[0].Span), "source", "data")
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		t.Fatal(err)
	}
	img, _, err := image.Decode(bytes.NewReader(raw))
	if err != nil || img.Bounds().Size() != image.Pt(2000, 200) {
		t.Fatal(err, img.Bounds())
	}
	for x, want := range map[int][3]int{500: {200, 0, 0}, 1500: {255, 255, 255}} {
		r, g, b, _ := img.At(x, 100).RGBA()
		for i, got := range []uint32{r >> 8, g >> 8, b >> 8} {
			if d := int(got) - want[i]; d < -3 || d > 3 {
				t.Errorf("at %d the colour is %d %d %d, want %v", x, r>>8, g>>8, b>>8, want)
				break
			}
		}
	}
}

// With more than 20 images each has to be small. What was sent before is for the caller.
func TestCrowd(t *testing.T) {
	small, large := pictureOf("image/png", flat(20, 20)), pictureOf("image/png", flat(2162, 322))
	list := []string{one(large), said}
	for range 19 {
		list = append(list, one(small), said)
	}
	o := mend.Options{Provider: "anthropic", Model: "claude-opus-4-8", From: len(list)}
	if _, actions := fix(t, wire.Messages, messages(append(list, one(`{"type":"text","text":"x"}`))...), o); len(actions) != 0 {
		t.Errorf("20 images: %v", actions)
	}
	full := append(list, one(small))
	next, actions := fix(t, wire.Messages, messages(full...), o)
	if at, ok := mend.First(actions); !ok || at != 0 || string(next.Body) != messages(full...) {
		t.Errorf("the 21st image: %v", actions)
	}
	o.From = 0
	next, actions = fix(t, wire.Messages, messages(full...), o)
	if kinds(actions) != "scaled" || strict(wire.Messages, "claude-opus-4-8", next.Body) != "" {
		t.Errorf("after a cut: %v", actions)
	}
	// A new one is scaled without a cut.
	list[0] = one(small)
	o.From = len(list)
	if _, actions = fix(t, wire.Messages, messages(append(list, one(large))...), o); kinds(actions) != "scaled" {
		t.Errorf("a new one: %v", actions)
	}
}

// The oldest images of too many go, some more than have to.
func TestTooManyPictures(t *testing.T) {
	var list []string
	small := pictureOf("image/png", flat(8, 8))
	for i := range 101 {
		id := fmt.Sprint("t", i)
		list = append(list, strings.ReplaceAll(using, "t1", id), strings.ReplaceAll(returned(`[`+small+`]`), "t1", id))
	}
	list = append([]string{hello}, list...)
	haiku := mend.Options{Provider: "anthropic", Model: "claude-haiku-4-5"}
	next, actions := fix(t, wire.Messages, messages(list...), haiku)
	if got, _ := sides(t, next.Body); len(got) != 80 || len(actions) != 21 || actions[20].Message != 42 {
		t.Errorf("%d are left, %v", len(got), actions)
	}
	if _, actions := fix(t, wire.Messages, messages(list...), mend.Options{Provider: "anthropic", Model: "claude-opus-4-8"}); len(actions) != 0 {
		t.Errorf("a model with a large window takes 600: %v", actions)
	}
	learned, ok := mend.Learn(mend.Options{Provider: "anthropic", Model: "claude-opus-4-8"}, "Too many images")
	if _, actions := fix(t, wire.Messages, messages(list...), learned); !ok || len(actions) != 21 {
		t.Errorf("it was learned: %v", actions)
	}
	haiku.From = len(list) - 1
	if _, actions := fix(t, wire.Messages, messages(list...), haiku); kinds(actions) != mend.Cut {
		t.Errorf("sent before: %v", actions)
	}
}

// Other dialects have images elsewhere, and other rules for them.
func TestPicturesElsewhere(t *testing.T) {
	data := func(kind, data string) string { return `"data:` + kind + `;base64,` + data + `"` }
	jpg, bad := encoded("image/jpeg", painted(8, 8)), "bm90IGEgcG5n"
	for _, c := range []struct {
		name, body, kinds, want string
		d                       wire.Dialect
		o                       mend.Options
	}{
		{"Chat", chat("gpt-5.1", one(`{"type":"image_url","image_url":{"url":`+data("image/png", bad)+`}}`)), "described", `[{"type":"text","text":"[An image that could not be read stood here.]"}]`, wire.Chat, mend.Options{}},
		{"Chat, a wrong type that is taken", chat("gpt-5.1", one(`{"type":"image_url","image_url":{"url":`+data("image/png", jpg)+`}}`)), "", "", wire.Chat, mend.Options{}},
		{"Chat, no type of an image", chat("gpt-5.1", one(`{"type":"image_url","image_url":{"url":`+data("application/octet-stream", jpg)+`}}`)), "retyped", `"data:image/jpeg;base64,/9j/`, wire.Chat, mend.Options{}},
		{"Chat, whoever that is", chat("my-model", one(`{"type":"image_url","image_url":{"url":`+data("image/png", bad)+`}}`)), "", "", wire.Chat, mend.Options{}},
		{"Chat, a Claude", chat("anthropic/claude-sonnet-4.5", one(`{"type":"image_url","image_url":{"url":`+data("image/png", jpg)+`}}`)), "retyped", `"data:image/jpeg;base64,/9j/`, wire.Chat, mend.Options{}},
		{"Responses", input(`{"role":"user","content":[{"type":"input_image","image_url":` + data("image/svg+xml", bad) + `}]}`), "described", `{"type":"input_text","text":"[An image that could not be read stood here.]"}`, wire.Responses, mend.Options{}},
		{"Responses, in an output", input(hello, `{"type":"function_call","call_id":"c","name":"see","arguments":"{}"}`, `{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":`+data("image/png", bad)+`}]}`), "described", `[{"type":"input_text","text":"[An image that could not be read stood here.]"}]`, wire.Responses, mend.Options{}},
		{"Responses, a screen", input(hello, `{"type":"computer_call","call_id":"c","action":{}}`, `{"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot","image_url":`+data("image/png", bad)+`}}`), "", "", wire.Responses, mend.Options{}},
		{"Gemini, a GIF", contents(`{"role":"user","parts":[{"inlineData":{"mimeType":"image/gif","data":"` + encoded("image/gif", painted(9, 9)) + `"}}]}`), "scaled", `"mimeType":"image/jpeg","data":"/9j/`, wire.Gemini, mend.Options{}},
		{"Gemini, a short type", contents(`{"role":"user","parts":[{"inlineData":{"mimeType":"jpeg","data":"` + jpg + `"}}]}`), "retyped", `"mimeType":"image/jpeg"`, wire.Gemini, mend.Options{}},
		{"Gemini, sound", contents(`{"role":"user","parts":[{"inlineData":{"mimeType":"audio/wav","data":"` + bad + `"}}]}`), "", "", wire.Gemini, mend.Options{}},
		{"Gemini, beside a response", contents(`{"role":"user","parts":[{"text":"a"}]}`, `{"role":"model","parts":[{"functionCall":{"name":"see","args":{}}}]}`, `{"role":"user","parts":[{"functionResponse":{"name":"see","response":{},"parts":[{"inlineData":{"mimeType":"image/png","data":"`+bad+`"}}]}}]}`), "described", `"parts":[]`, wire.Gemini, mend.Options{}},
		{"Bedrock, an address", messages(one(`{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}`)), "described", `[An image at https://example.com/a.png stood here; the provider does not fetch any.]`, wire.Messages, mend.Options{Provider: "bedrock"}},
		{"Anthropic, an address", messages(one(`{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}`)), "", "", wire.Messages, mend.Options{Provider: "anthropic"}},
		{"in a failed result", messages(hello, using, returned(`[`+pictureOf("image/jpeg", jpg)+`],"is_error":true`)), "described", `[{"type":"text","text":"[An image stood here; a result that says it failed may have none.]"}]`, wire.Messages, mend.Options{}},
		{"with a mark", messages(one(strings.Replace(pictureOf("image/png", bad), `{"type"`, `{"cache_control":{"type":"ephemeral"},"type"`, 1))), "described", `stood here.]","cache_control":{"type":"ephemeral"}}`, wire.Messages, mend.Options{}},
		{"a document is none", messages(one(`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}}`)), "", "", wire.Messages, mend.Options{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			next, actions := fix(t, c.d, c.body, c.o)
			if kinds(actions) != c.kinds || !bytes.Contains(next.Body, []byte(c.want)) {
				t.Errorf("%v, want %q and %s\n%.600s", actions, c.kinds, c.want, next.Body)
			}
		})
	}
}

// After a refusal that names no image, the one that does not decode is found.
func TestDecodeAll(t *testing.T) {
	good := encoded("image/png", painted(30, 30))
	raw, _ := base64.StdEncoding.DecodeString(good)
	damaged := slices.Clone(raw)
	damaged[len(damaged)/2] ^= 0xff
	body := messages(one(pictureOf("image/png", good)), said, one(pictureOf("image/png", base64.StdEncoding.EncodeToString(damaged))))
	if _, actions := fix(t, wire.Messages, body, mend.Options{}); len(actions) != 0 {
		t.Errorf("its header is in order: %v", actions)
	}
	next, actions := fix(t, wire.Messages, body, mend.Options{Decode: true})
	if got, _ := sides(t, next.Body); kinds(actions) != "described" || actions[0].Message != 2 || len(got) != 1 {
		t.Errorf("%v, %v", actions, got)
	}
}
