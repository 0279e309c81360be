package window

import (
	"testing"

	"github.com/plimsoll/plimsoll/internal/config"
)

// A key of Bedrock's own is taken before credentials, as AWS's own tools take it.
func TestServesBedrockWithAKey(t *testing.T) {
	u := config.UpstreamSettings{Bedrock: "https://bedrock-runtime.eu-west-1.amazonaws.com"}
	t.Setenv("AWS_ACCESS_KEY_ID", "AKID")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	for key, want := range map[string]string{"": "", "key-of-bedrock": bedrockKey} {
		t.Setenv(bedrockKey, key)
		list, err := Upstreams(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		if last := list[len(list)-1]; last.Name != "bedrock" || last.URL != u.Bedrock || last.KeyEnv != want || (last.AWS == nil) != (key != "") {
			t.Errorf("with the key %q: %+v", key, last)
		}
	}
}
