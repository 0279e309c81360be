package lab

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// lineBytes is the length of a line of a flood with its end, and floodBytes what is written
// at once.
const (
	lineBytes  = 64
	floodBytes = 32 << 10
)

type amount struct {
	Bytes int64 `json:"bytes" jsonschema:"How many bytes"`
}

func flood(_ context.Context, _ *builtin.Call, in amount) (*builtin.Result, error) {
	if in.Bytes < 0 || in.Bytes > int64(MaxFlood) {
		return nil, fmt.Errorf("bytes is %d: send a number from 0 to %d (%s)", in.Bytes, int64(MaxFlood), MaxFlood.Human())
	}
	return &builtin.Result{Stream: func(ctx context.Context, w io.Writer) error {
		return pour(ctx, w, limit.Bytes(in.Bytes))
	}}, nil
}

// pour writes so many bytes of numbered lines.
func pour(ctx context.Context, w io.Writer, size limit.Bytes) error {
	filling := strings.Repeat(".", lineBytes)
	buffer := make([]byte, 0, floodBytes)
	for number, left := 1, int64(size); left > 0; {
		buffer = buffer[:0]
		for ; len(buffer)+lineBytes <= floodBytes; number++ {
			at := len(buffer)
			buffer = fmt.Appendf(buffer, "line %d ", number)
			buffer = append(buffer, filling[:lineBytes-1-(len(buffer)-at)]...)
			buffer = append(buffer, '\n')
		}
		if int64(len(buffer)) > left {
			buffer = buffer[:left]
		}
		if _, err := w.Write(buffer); err != nil {
			return err
		}
		left -= int64(len(buffer))
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}
