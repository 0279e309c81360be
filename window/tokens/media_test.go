package tokens

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"testing"

	"github.com/plimsoll/plimsoll/window/wire"
)

func encoded(t *testing.T, w, h int, encode func(io.Writer, image.Image) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b, image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.White, color.Black})); err != nil {
		t.Fatal(err)
	}
	return []byte(base64.StdEncoding.EncodeToString(b.Bytes()))
}

func TestImageSizeIsReadOffTheHead(t *testing.T) {
	for name, encode := range map[string]func(io.Writer, image.Image) error{
		"png":  png.Encode,
		"jpeg": func(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, nil) },
		"gif":  func(w io.Writer, m image.Image) error { return gif.Encode(w, m, nil) },
	} {
		head := encoded(t, 640, 480, encode)
		if w, h := imageSize(head[:min(len(head), 2001)]); w != 640 || h != 480 {
			t.Errorf("%s: %d by %d", name, w, h)
		}
		if w, h := imageSize(head[:16]); w != 0 || h != 0 {
			t.Errorf("%s cut short: %d by %d", name, w, h)
		}
	}
	// The head of a lossless WebP of 300 by 200.
	webp := []byte("RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x2b\xc1\x31\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	if w, h := imageSize([]byte(base64.StdEncoding.EncodeToString(webp))); w != 300 || h != 200 {
		t.Errorf("webp: %d by %d", w, h)
	}
	if w, h := imageSize([]byte("%%%%")); w != 0 || h != 0 {
		t.Errorf("no base64: %d by %d", w, h)
	}
}

// The figures are those of the providers' own pages.
func TestPicturesCostWhatProvidersSay(t *testing.T) {
	for _, c := range []struct {
		f    Family
		w, h int
		want int
	}{
		{FamilyClaude, 200, 200, 64},       // 8 by 8 patches
		{FamilyClaude, 1000, 1000, 1296},   // 36 by 36
		{FamilyClaude, 3000, 2000, 1568},   // scaled down to the limit
		{FamilyClaude47, 2000, 1500, 3888}, // 72 by 54, not scaled
		{FamilyO200K, 1024, 1024, 765},     // 85 and four tiles
		{FamilyO200K, 2048, 4096, 1105},    // six tiles
		{FamilyGemini, 384, 384, 1120},
		{FamilyGemini, 3072, 3072, 4128}, // sixteen tiles
	} {
		e := estimateImage(c.f, c.w, c.h)
		if c.want < e.Low || c.want > e.High || e.Best != c.want {
			t.Errorf("%s, %d by %d: %+v, want %d", c.f, c.w, c.h, e, c.want)
		}
	}
}

func TestMediaBandsAreInOrder(t *testing.T) {
	for f := range families {
		for _, kind := range []string{"", "image/png", "application/pdf", "input_file", "document", "audio/wav", "mp3", "video/mp4", "text/plain"} {
			for _, n := range []int{0, 4, 4000, 4 << 20} {
				e := estimateMedia(f, &wire.MediaSource{Type: kind, Base64: n}, nil)
				if e.Low < 0 || e.Low > e.Best || e.Best > e.High {
					t.Errorf("%s %q of %d characters: %+v", f, kind, n, e)
				}
			}
		}
	}
}

func FuzzImageSize(f *testing.F) {
	f.Add([]byte("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"))
	f.Add([]byte("/9j/4AAQSkZJRgABAQ"))
	f.Add([]byte("R0lGODlhAQABAIAAAP"))
	f.Fuzz(func(t *testing.T, head []byte) {
		w, h := imageSize(head)
		for family := range families {
			if e := estimateImage(family, w, h); e.Low < 0 || e.Low > e.Best || e.Best > e.High || e.High > 1<<20 {
				t.Fatalf("%s, %d by %d: %+v", family, w, h, e)
			}
		}
	})
}
