package client

import "testing"

// Some hosts put the key of a server into its URL: errors with it are read by models and
// written into logs.
func TestPlacesTellNoKeys(t *testing.T) {
	for url, want := range map[string]string{
		"https://user:secret@host:8/mcp?key=secret":                 "https://host:8/mcp",
		"https://host/api/v1/mcp":                                   "https://host/api/v1/mcp",
		"https://host/s/NDQ3ZTk2/mcp":                               "https://host/s/.../mcp",
		"https://host/mcp/averyveryverylongsecretwordinthepath/sse": "https://host/mcp/.../sse",
		"https://host": "https://host",
	} {
		r, err := HTTP(HTTPOptions{Name: "x", URL: url})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.displayURL(); got != want {
			t.Errorf("%s is told as %s, not %s", url, got, want)
		}
		_ = r.Close()
	}
}
