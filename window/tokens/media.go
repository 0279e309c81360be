package tokens

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"strings"

	"golang.org/x/image/webp"

	"github.com/plimsoll/plimsoll/window/wire"
)

// What media cost where their size is not known, in tokens.
const (
	// Anthropic scales an image to at most 1,568 pixels on the long edge and 1,568 tokens,
	// and from 4.7 on to 2,576 pixels and 4,784 tokens; a token is 28 by 28 pixels.
	claudeEdge, claudeTokens     = 1568, 1568
	claude47Edge, claude47Tokens = 2576, 4784
	claudePatch                  = 28
	// A PDF page is read as text (1,500 to 3,000 tokens, says Anthropic) and as an image.
	pageLow, pageBest, pageHigh = 258, 2500, 3000 + claudeTokens
	// Scanned pages have 50 KB and more, printed text 10 KB or less with its fonts.
	pageBytesLow, pageBytesBest, pageBytesHigh = 200 << 10, 40 << 10, 10 << 10
	// A document the provider fetches or keeps may have any size.
	farPages = 20
	// Gemini hears 32 tokens a second and sees 300 (258 a frame, sound and time stamps);
	// OpenAI hears 10. Speech has 2 to 32 KB a second, video 30 to 500 KB.
	audioRate, videoRate = 32, 300
	// Words that only a provider can read are rarely more than 37,000 tokens in one piece; pictures are rarely smaller.
	sealedMost = 256 << 10
)

// estimateMedia returns the estimate for one image, sound or document by the type and length in s. head, the beginning of its base64 text,
// is used only for the width and height of an image.
func estimateMedia(f Family, s *wire.MediaSource, head []byte) Estimate {
	size := s.Base64 / 4 * 3
	far := s.Base64 == 0
	kind := strings.ToLower(s.Type)
	switch {
	case strings.Contains(kind, "pdf") || strings.Contains(kind, "document") || strings.Contains(kind, "file"):
		if far {
			return Estimate{0, 4 * pageBest, farPages * pageHigh}
		}
		return Estimate{
			(1 + size/pageBytesLow) * pageLow,
			(1 + size/pageBytesBest) * pageBest,
			(1 + size/pageBytesHigh) * pageHigh,
		}
	case strings.Contains(kind, "audio") || kind == "wav" || kind == "mp3":
		if far {
			return Estimate{0, 60 * audioRate, 1800 * audioRate}
		}
		return Estimate{size / 32000 * 10, (1 + size/16000) * audioRate, (1 + size/2000) * audioRate}
	case strings.Contains(kind, "video"):
		if far {
			return Estimate{0, 60 * videoRate, 600 * videoRate}
		}
		return Estimate{size / 500000 * 70, (1 + size/250000) * videoRate, (1 + size/30000) * videoRate}
	case kind == wire.Bytes:
		return unknownMedia(f, s.Base64)
	case strings.Contains(kind, "text") || strings.Contains(kind, "json") || strings.Contains(kind, "xml"):
		return Estimate{size / 8, size / 4, size}
	}
	w, h := imageSize(head)
	return estimateImage(f, w, h)
}

// estimateSealed returns the estimate for reasoning that only the provider can read.
func estimateSealed(s *wire.MediaSource) Estimate { return Estimate{0, s.Base64 / 12, s.Base64 / 4} }

// unknownMedia returns the estimate for base64 of which only the length is known, size characters. Up to sealedMost it is taken for words
// that only the provider can read: a page that it found, the result of a tool of its own. Codex takes nine bytes of text for sixteen
// characters of such a result and four bytes for a token (estimate_encrypted_function_output_length of its history.rs, read 2026-11-26).
// Above, it is taken for an image of an unknown kind. So the error is bounded either way: an image costs what a page does, and sealed words
// never more than High.
func unknownMedia(f Family, size int) Estimate {
	if size <= sealedMost {
		return Estimate{0, size * 9 / 64, size / 4}
	}
	e := estimateImage(f, 0, 0)
	return Estimate{0, e.Best, max(e.High, sealedMost/12)}
}

// imageSize returns the width and height of an image by the start of its base64 text; 0, 0 if it is in none of the four formats that the
// providers take, or broken.
func imageSize(head []byte) (w, h int) {
	head = head[:len(head)/4*4]
	raw := make([]byte, base64.StdEncoding.DecodedLen(len(head)))
	n, err := base64.StdEncoding.Decode(raw, head)
	if err != nil && n == 0 {
		return 0, 0
	}
	raw = raw[:n]
	var decode func(io.Reader) (image.Config, error)
	switch {
	case bytes.HasPrefix(raw, []byte("\x89PNG")):
		decode = png.DecodeConfig
	case bytes.HasPrefix(raw, []byte("\xff\xd8")):
		decode = jpeg.DecodeConfig
	case bytes.HasPrefix(raw, []byte("GIF8")):
		decode = gif.DecodeConfig
	case bytes.HasPrefix(raw, []byte("RIFF")):
		decode = webp.DecodeConfig
	default:
		return 0, 0
	}
	c, err := decode(bytes.NewReader(raw))
	if err != nil || c.Width <= 0 || c.Height <= 0 || c.Width > 1<<16 || c.Height > 1<<16 {
		return 0, 0
	}
	return c.Width, c.Height
}

// estimateImage returns the estimate for an image of w by h pixels, which are 0 if unknown.
func estimateImage(f Family, w, h int) Estimate {
	known := w > 0
	switch f {
	case FamilyClaude:
		return patchEstimate(w, h, claudePatch, claudeEdge, claudeTokens)
	case FamilyClaude47:
		return patchEstimate(w, h, claudePatch, claude47Edge, claude47Tokens)
	case FamilyO200K, FamilyCL100K:
		// Two schemes: 85 tokens and 170 for each tile of 512 after scaling the short
		// side to 768 and the long one to 2,048 (GPT-4o; 70 and 140 in GPT-5), and
		// patches of 32 pixels, at most 1,536, times up to 2.46 (the small models).
		if !known {
			return Estimate{70, 765, 3779}
		}
		tiles := openAITiles(w, h)
		patched := min(ceilDiv(w, 32)*ceilDiv(h, 32), 1536) * 246 / 100
		return Estimate{70, 85 + 170*tiles, max(85+170*tiles, patched) + 8}
	case FamilyGemini:
		// 258 tokens up to 384 by 384, else for each tile of 768; from Gemini 3 on 1,120
		// for every image unless asked otherwise.
		if !known {
			return Estimate{258, 1120, 4128}
		}
		tiles := 258
		if w > 384 || h > 384 {
			tiles = 258 * min(ceilDiv(w, 768)*ceilDiv(h, 768), 16)
		}
		return Estimate{258, max(tiles, 1120), max(tiles, 1120) + 16}
	}
	// Qwen-VL, Llama and Pixtral have a token for every 28 by 28, 16 by 16 or so pixels,
	// with limits that the server sets.
	if !known {
		return Estimate{64, 1280, 5000}
	}
	n := ceilDiv(w, 28) * ceilDiv(h, 28)
	return Estimate{min(n, 64), min(n, 1280) + 8, min(3*n, 16384) + 64}
}

// patchEstimate estimates an image by the number of squares of side pixels in it after it is scaled down to a longest edge, at most limit.
// A width of 0 stands for an unknown size.
func patchEstimate(w, h, side, edge, limit int) Estimate {
	if w == 0 {
		return Estimate{0, min(limit, 1568), limit + 8}
	}
	if long := max(w, h); long > edge {
		w, h = max(w*edge/long, 1), max(h*edge/long, 1)
	}
	n := min(ceilDiv(w, side)*ceilDiv(h, side), limit)
	// The older rule, pixels over 750, gives a twentieth more.
	return Estimate{n * 9 / 10, n, min(n*106/100, limit) + 8}
}

// openAITiles returns the number of tiles of 512 pixels that OpenAI cuts an image into after it is scaled down.
func openAITiles(w, h int) int {
	if long := max(w, h); long > 2048 {
		w, h = max(w*2048/long, 1), max(h*2048/long, 1)
	}
	if short := min(w, h); short > 768 {
		w, h = w*768/short, h*768/short
	}
	return ceilDiv(w, 512) * ceilDiv(h, 512)
}

// ceilDiv returns n divided by by, rounded up.
func ceilDiv(n, by int) int { return (n + by - 1) / by }
