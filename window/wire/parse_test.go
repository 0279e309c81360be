package wire

import "testing"

func TestParseCommon(t *testing.T) {
	for d, body := range map[Dialect]string{
		Chat:      `{"model":"m","max_tokens":5,"stream":true,"messages":[{"role":"user","content":"hi"}]}`,
		Responses: `{"model":"m","max_output_tokens":5,"stream":true,"input":[{"role":"user","content":"hi"}]}`,
		Messages:  `{"model":"m","max_tokens":5,"stream":true,"messages":[{"role":"user","content":"hi"}]}`,
	} {
		r, err := Parse(d, []byte(body))
		if err != nil {
			t.Fatalf("%v: %v", d, err)
		}
		if r.Model != "m" || r.MaxOutput != 5 || !r.Stream || len(r.Messages) != 1 {
			t.Errorf("%v: model %q, output %d, stream %t, %d messages", d, r.Model, r.MaxOutput, r.Stream, len(r.Messages))
		}
		p := r.Messages[0].Parts[0]
		if got := string(r.Raw(p.Texts[0])); got != `"hi"` || p.Kind != Text {
			t.Errorf("%v: part %v %s", d, p.Kind, got)
		}
	}
}
