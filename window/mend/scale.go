package mend

import (
	"bytes"
	"encoding/base64"
	"errors"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/draw"
	"golang.org/x/image/webp"
)

const (
	// maxDecoded is the most memory that one image may take while it is decoded, in bytes.
	maxDecoded = 64 << 20
	// maxPixels is how many pixels of all images of a request are decoded, so that it ends in some seconds.
	maxPixels = 1 << 28
	// smallSide is what an image is made smaller to: within Anthropic's limit for many images, so that it has to be done once, and no less
	// than its models look at (2,576 pixels from 4.7 on, 1,568 before; platform.claude.com "vision", 2026-11).
	smallSide = claudeCrowdSide
	// stripBytes is what the scaler may take for itself at a time.
	stripBytes = 16 << 20
	// quality is that of JPEG, in which all is written: letters on a screen stay readable, and a writer of PNG would be 0.1 MB of the program.
	quality = 90
)

var (
	errTooLarge = errors.New("it does not fit into the memory for one image")
	errNoFormat = errors.New("a format that is not decoded here")
)

// smaller is an image that was made smaller, or put into another format. base64 is nil where nothing had to be done.
type smaller struct {
	kind   string
	base64 []byte
}

// scaled decodes an image. With change it is made to fit within smallSide and the size that the provider takes.
func (m *mending) scaled(text []byte, h header, change bool) (smaller, error) {
	pixels := h.width * h.height
	each := 4 // bytes for a pixel
	if h.deep {
		each = 16
	}
	if pixels <= 0 || pixels > maxDecoded/each || m.pixels+pixels > maxPixels {
		if change {
			return smaller{}, errTooLarge
		}
		return smaller{}, nil // nobody can say
	}
	m.pixels += pixels
	img, err := decodeImage(h.kind, base64.NewDecoder(base64.StdEncoding, bytes.NewReader(text)))
	if err != nil || !change {
		return smaller{}, err
	}
	limit := m.rules.pictures.base64
	for side := smallSide; side >= 64; side /= 2 {
		var out bytes.Buffer
		if err := jpeg.Encode(&out, fitted(img, side), &jpeg.Options{Quality: quality}); err != nil {
			return smaller{}, err
		}
		if n := base64.StdEncoding.EncodedLen(out.Len()); limit == 0 || n <= limit {
			return smaller{"image/jpeg", base64.StdEncoding.AppendEncode(make([]byte, 0, n), out.Bytes())}, nil
		}
	}
	return smaller{}, errTooLarge
}

func decodeImage(kind string, r io.Reader) (image.Image, error) {
	switch kind {
	case "image/png":
		return png.Decode(r)
	case "image/jpeg":
		return jpeg.Decode(r)
	case "image/gif":
		return gif.Decode(r) // the first picture of several
	case "image/webp":
		return webp.Decode(r)
	}
	return nil, errNoFormat
}

// fitted scales an image down to a longest side, on white where it is transparent. It goes in strips of lines: what the scaler holds between
// its two passes grows with the height of what it is given.
func fitted(src image.Image, side int) image.Image {
	from := src.Bounds()
	w, h := from.Dx(), from.Dy()
	dw, dh := w, h
	if long := max(w, h); long > side {
		dw, dh = max(w*side/long, 1), max(h*side/long, 1)
	}
	dst := image.NewRGBA(image.Rect(0, 0, dw, dh))
	for i := range dst.Pix {
		dst.Pix[i] = 0xff
	}
	lines := max(stripBytes/(dw*32), 64) // of the source
	for top := 0; top < dh; {
		bottom := min(top+max(lines*dh/h, 1), dh)
		sr := image.Rect(from.Min.X, from.Min.Y+top*h/dh, from.Max.X, from.Min.Y+bottom*h/dh)
		draw.BiLinear.NewScaler(dw, bottom-top, sr.Dx(), sr.Dy()).Scale(dst, image.Rect(0, top, dw, bottom), src, sr, draw.Over, nil)
		top = bottom
	}
	return dst
}
