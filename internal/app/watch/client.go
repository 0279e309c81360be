package watch

import (
	"encoding/json"
	"io"
	"time"
)

// Bounds of what a client says on standard input.
const (
	// MaxClient bounds the bytes that are read. Claude Code sends about 2 KB.
	MaxClient = 256 << 10
	// ClientWait bounds the wait for the input: a client that has left its pipe open and says nothing must not hold up a prompt.
	ClientWait = 100 * time.Millisecond
	// maxClientTokens is more than any window has.
	maxClientTokens = 1 << 40
)

// Client is the input that Claude Code gives its statusLine command on standard input, as far as it is used
// (https://code.claude.com/docs/en/statusline). Every part may be missing.
type Client struct {
	Dir       string `json:"cwd"`
	Workspace struct {
		CurrentDir string `json:"current_dir"`
		ProjectDir string `json:"project_dir"`
	} `json:"workspace"`
	Context struct {
		Size float64 `json:"context_window_size"`
		// Percent is null before the first answer.
		Percent float64 `json:"used_percentage"`
		// Usage has the tokens of the last answer.
		Usage struct {
			Input      float64 `json:"input_tokens"`
			CacheWrite float64 `json:"cache_creation_input_tokens"`
			CacheRead  float64 `json:"cache_read_input_tokens"`
		} `json:"current_usage"`
	} `json:"context_window"`
}

// ReadClient reads one JSON object from a client. It returns the zero Client when that is not valid or does not come within ClientWait. A
// reader that never ends keeps a goroutine until the program ends.
func ReadClient(from io.Reader) Client {
	said := make(chan Client, 1)
	go func() {
		var c Client
		if json.NewDecoder(io.LimitReader(from, MaxClient)).Decode(&c) != nil {
			c = Client{}
		}
		said <- c
	}()
	select {
	case c := <-said:
		return c
	case <-time.After(ClientWait):
		return Client{}
	}
}

// window returns the tokens in the client's window and its size; 0 and 0 when it does not give them, or gives impossible ones.
func (c *Client) window() (tokens, limit int64) {
	count := func(n float64) int64 {
		if n >= 0 && n <= maxClientTokens { // false for what is no number, too
			return int64(n)
		}
		return 0
	}
	u := c.Context.Usage
	tokens, limit = count(u.Input)+count(u.CacheWrite)+count(u.CacheRead), count(c.Context.Size)
	if tokens == 0 && c.Context.Percent > 0 && c.Context.Percent <= 100 {
		tokens = int64(c.Context.Percent / 100 * float64(limit))
	}
	if limit == 0 || tokens > maxClientTokens {
		return 0, 0
	}
	return tokens, limit
}
