package holder_test

import (
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/process/holder"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// What claims say about their runs may be damaged; nothing is removed by guess.
func TestRemains(t *testing.T) {
	if err := holder.Reap(admission.Holder{}); err != nil {
		t.Errorf("a claim that has made nothing: %v", err)
	}
	bad := admission.Holder{ID: "k3f9", Remains: []byte(`{"layer":`)}
	if err := holder.Reap(bad); err == nil || !strings.Contains(err.Error(), "k3f9") {
		t.Errorf("damaged remains: %v", err)
	}
	if holder.Current(bad) != 0 {
		t.Error("a damaged claim uses memory")
	}
	r, ok := holder.Remains(admission.Holder{Remains: []byte(`{"layer":"monitor","id":"k3f9","pid":7}`)})
	if !ok || r.Layer != sandbox.Monitor || r.ID != "k3f9" || r.PID != 7 {
		t.Errorf("remains are %+v, %v", r, ok)
	}
}
