package window

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/forwardproxy"
	"github.com/plimsoll/plimsoll/internal/window/compact"
)

// maxSummary bounds the answer of the model that writes summaries, in bytes.
const maxSummary = 1 << 20

// summarizer has a model behind an OpenAI-compatible service write summaries, with a key of its own. Errors hold neither the key nor what the
// service answered: that may repeat what was sent.
type summarizer struct {
	url, model, key string
	client          *http.Client
}

// newSummarizer returns a client of the model that writes summaries. It follows no redirect, which would carry the conversation to another host.
func newSummarizer(w config.WindowSettings) (*summarizer, error) {
	switch {
	case w.SummaryModel == "":
		return nil, errors.New(`[window] summarizer is "model", but summary_model names none; set it, or set summarizer = "extractive"`)
	case w.SummaryKey != "" && os.Getenv(w.SummaryKey) == "":
		return nil, fmt.Errorf("[window] summary_key names the variable %s, which is empty; set it to the key of %s", w.SummaryKey, w.SummaryURL)
	}
	s := &summarizer{url: w.SummaryURL + "/chat/completions", model: w.SummaryModel}
	if w.SummaryKey != "" {
		s.key = os.Getenv(w.SummaryKey)
	}
	// A redirect would carry the conversation to a host that nobody configured.
	s.client = &http.Client{Transport: forwardproxy.Transport(), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return s, nil
}

// Summarize asks the model once, without a deadline of its own.
func (s *summarizer) Summarize(ctx context.Context, a compact.Assignment) (compact.Written, error) {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	body, err := json.Marshal(struct {
		Model    string    `json:"model"`
		Messages []message `json:"messages"`
		Max      int       `json:"max_completion_tokens,omitempty"`
	}{s.model, []message{{"system", a.Instructions}, {"user", a.Transcript}}, a.MaxTokens})
	if err != nil {
		return compact.Written{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return compact.Written{}, errors.New("the address of summary_url can't be asked")
	}
	req.Header.Set("Content-Type", "application/json")
	if s.key != "" {
		req.Header.Set("Authorization", "Bearer "+s.key)
	}
	res, err := s.client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return compact.Written{}, ctx.Err()
		}
		return compact.Written{}, errors.New("the service that writes summaries gave no answer")
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxSummary+1))
	if err != nil || len(answer) > maxSummary {
		return compact.Written{}, errors.New("the answer of the service that writes summaries broke off or has no end")
	}
	if res.StatusCode != http.StatusOK {
		return compact.Written{}, fmt.Errorf("the service that writes summaries answered %d", res.StatusCode)
	}
	return readSummary(answer)
}

// readSummary returns the summary in an answer of the Chat Completions API. A summary that was cut off is an error; the tokens used are
// returned with it.
func readSummary(answer []byte) (compact.Written, error) {
	var got struct {
		Choices []struct {
			Message struct {
				Content string `json:"content"`
			} `json:"message"`
			Finish string `json:"finish_reason"`
		} `json:"choices"`
		Usage struct {
			In  int `json:"prompt_tokens"`
			Out int `json:"completion_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return compact.Written{}, errors.New("the service that writes summaries did not answer with JSON")
	}
	out := compact.Written{In: max(got.Usage.In, 0), Out: max(got.Usage.Out, 0)}
	if len(got.Choices) != 1 || got.Choices[0].Finish != "stop" {
		return out, errors.New("the model that writes summaries did not come to an end")
	}
	out.Text = got.Choices[0].Message.Content
	return out, nil
}
