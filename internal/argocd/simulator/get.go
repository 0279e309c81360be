package simulator

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/plimsoll/plimsoll/limit"
)

// maxBody bounds what a request may send; the server's own bound for messages is larger.
const maxBody = 4 * limit.MiB

// marshal writes what cannot fail: maps, slices and strings made here.
func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // a value of this package that is no JSON is a mistake in it
	}
	return b
}

// body returns the bytes of a request.
func (c *call) body() ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, int64(maxBody)))
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return nil, refuse(resourceExhausted, "grpc: received message larger than max (more than %d)", large.Limit)
		}
		return nil, refuse(invalidArgument, "unexpected EOF")
	}
	return body, nil
}

// read decodes a request's body, with the errors of encoding/json as the server tells them.
func (c *call) read(v any) error {
	body, err := c.body()
	if err != nil || len(bytes.TrimSpace(body)) == 0 {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err := dec.Decode(v); err != nil {
		return refuse(invalidArgument, "%v", err)
	}
	return nil
}

func getDetailed(c *call) error {
	f, err := c.object(projects)
	if err != nil {
		return err
	}
	return c.answer(c.writeDetailed(nil, c.bodyOf(f), f.name))
}

func windowsOf(project []byte) []map[string]any {
	var p struct {
		Spec struct{ SyncWindows []map[string]any }
	}
	if json.Unmarshal(project, &p) != nil {
		return nil // a project somebody stored with something else there has none
	}
	return p.Spec.SyncWindows
}
