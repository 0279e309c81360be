package embed

import (
	"encoding/json"
	"errors"
	"fmt"
)

// parseAnswer reads the vectors of n texts from an answer, in the order of the texts. It returns an error unless each is there exactly
// once, is not zero, and has as many dimensions as the others.
func parseAnswer(body []byte, n int) ([]Vector, error) {
	var answer struct {
		Data []struct {
			Index     *int      `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, errors.New("its answer is no list of vectors as OpenAI's API has it") // its words may repeat what was sent
	}
	if len(answer.Data) != n {
		return nil, fmt.Errorf("it gave %d vectors for %d texts", len(answer.Data), n)
	}
	out := make([]Vector, n)
	for i, one := range answer.Data {
		at := i
		if one.Index != nil {
			at = *one.Index
		}
		if at < 0 || at >= n || out[at].Values != nil {
			return nil, fmt.Errorf("it gave vectors that cannot be told apart: the index %d", at)
		}
		v, ok := Quantize(one.Embedding)
		if !ok {
			return nil, fmt.Errorf("it gave a vector of %d dimensions without a direction; at most %d are kept", len(one.Embedding), MaxDimensions)
		}
		if i > 0 && len(v.Values) != len(answer.Data[0].Embedding) {
			return nil, fmt.Errorf("it gave vectors of %d and of %d dimensions", len(answer.Data[0].Embedding), len(v.Values))
		}
		out[at] = v
	}
	return out, nil
}
