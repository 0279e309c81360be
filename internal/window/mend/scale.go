package mend

import (
	"bytes"
	"encoding/base64"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/webp"
)

const (
	// maxDecoded is the most memory that one image may take while it is decoded, in bytes.
	maxDecoded = 64 << 20
	// maxPixels limits the pixels decoded of all images of a request, so that it ends in some seconds.
	maxPixels = 1 << 28
	// smallSide is the longest side, in pixels, of an image that was scaled down: within Anthropic's limit for many images, so that it has
	// to be done once, and no less than its models look at (2,576 pixels from 4.7 on, 1,568 before; platform.claude.com "vision", 2026-11).
	smallSide = claudeCrowdSide
	// quality is that of JPEG, the format of all images that are written: letters on a screen stay readable, and a writer of PNG would be
	// 0.1 MB of the program.
	quality = 90
)

var (
	errTooLarge = errors.New("it does not fit into the memory for one image")
	errNoFormat = errors.New("a format that is not decoded here")
)

// scaledImage is an image that was made smaller or put into another format. base64 is nil if it was left as it is.
type scaledImage struct {
	kind   string
	base64 []byte
}

// checkImage decodes an image to see whether it is valid, and with change returns it scaled down to the provider's size. It returns an
// error if the image cannot be decoded, or with change if it is too large to decode. Without change an image that is too large counts as
// valid.
func (m *mending) checkImage(text []byte, h header, change bool) (scaledImage, error) {
	pixels := h.width * h.height
	each := 4 // bytes for a pixel
	if h.deep {
		each = 16
	}
	if pixels <= 0 || pixels > maxDecoded/each || m.pixels+pixels > maxPixels {
		if change {
			return scaledImage{}, errTooLarge
		}
		return scaledImage{}, nil // nobody can say
	}
	m.pixels += pixels
	img, err := decodeImage(h.kind, base64.NewDecoder(base64.StdEncoding, bytes.NewReader(text)))
	if err != nil || !change {
		return scaledImage{}, err
	}
	limit := m.rules.pictures.base64
	for side := smallSide; side >= 64; side /= 2 {
		var out bytes.Buffer
		if err := jpeg.Encode(&out, scaledTo(img, side), &jpeg.Options{Quality: quality}); err != nil {
			return scaledImage{}, err
		}
		if n := base64.StdEncoding.EncodedLen(out.Len()); limit == 0 || n <= limit {
			return scaledImage{"image/jpeg", base64.StdEncoding.AppendEncode(make([]byte, 0, n), out.Bytes())}, nil
		}
	}
	return scaledImage{}, errTooLarge
}

// decodeImage decodes an image of a media type; of an animation the first picture. For types but PNG, JPEG, GIF and WebP it is errNoFormat.
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

// scaledTo returns an image scaled down to a longest side of side pixels, on white where it is transparent. Each pixel is the mean of those
// under it. It uses whole numbers only, so that the same image gives the same bytes on every machine (the scalers of
// golang.org/x/image/draw do not, and are 0.1 MB of the program).
func scaledTo(src image.Image, side int) image.Image {
	from := src.Bounds()
	w, h := from.Dx(), from.Dy()
	dw, dh := w, h
	if long := max(w, h); long > side {
		dw, dh = max(w*side/long, 1), max(h*side/long, 1)
	}
	dst := image.NewRGBA(image.Rect(0, 0, dw, dh))
	// A pixel of the source is dw wide and dh high, one of the result w and h: so all weights are whole.
	line, sum := make([]uint64, 3*dw), make([]uint64, 3*dw)
	out, left := 0, h // the line of the result that is being summed up, and how much of its height is missing
	for y := range h {
		clear(line)
		sumLine(line, src, from.Min.X, from.Min.Y+y, w, dw)
		for rest := dh; rest > 0; {
			part := min(rest, left)
			for i, v := range line {
				sum[i] += v * uint64(part)
			}
			rest, left = rest-part, left-part
			if left == 0 {
				for i, v := range sum {
					dst.Pix[out*dst.Stride+i/3*4+i%3] = uint8(v / uint64(w*h) >> 8)
				}
				clear(sum)
				out, left = out+1, h
			}
		}
	}
	for i := 3; i < len(dst.Pix); i += 4 {
		dst.Pix[i] = 0xff
	}
	return dst
}

// sumLine adds line y of an image, w pixels wide from x0 on, to the sums of a line of dw pixels.
func sumLine(line []uint64, src image.Image, x0, y, w, dw int) {
	fast, _ := src.(image.RGBA64Image)
	at, left := 0, w
	for x := range w {
		var c color.RGBA64
		if fast != nil {
			c = fast.RGBA64At(x0+x, y)
		} else {
			r, g, b, a := src.At(x0+x, y).RGBA()
			c = color.RGBA64{R: uint16(r), G: uint16(g), B: uint16(b), A: uint16(a)}
		}
		white := 0xffff - uint64(c.A)
		for rest := dw; rest > 0; {
			part := min(rest, left)
			line[at] += (uint64(c.R) + white) * uint64(part)
			line[at+1] += (uint64(c.G) + white) * uint64(part)
			line[at+2] += (uint64(c.B) + white) * uint64(part)
			if rest, left = rest-part, left-part; left == 0 {
				at, left = at+3, w
			}
		}
	}
}
