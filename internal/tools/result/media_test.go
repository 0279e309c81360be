package result

import (
	"strings"
	"testing"
)

// A picture that is too large takes no smaller neighbour with it, before or behind.
func TestLargeMediaLeaveSmallOnesTheirRoom(t *testing.T) {
	o := options(open(t))
	large, small := strings.Repeat("QUJD", 3<<20), strings.Repeat("REVG", 1<<10)
	text := `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"caption"},{"type":"audio","data":"` + small + `","mimeType":"audio/wav"},` +
		`{"type":"image","data":"` + large + `","mimeType":"image/png"},{"type":"audio","data":"` + small + `","mimeType":"audio/wav"}]}}`
	got, out := bound(t, frame(text, 255), o)
	c := decode(t, got).Result.Content
	if len(c) != 4 || c[0].Text != "caption" || c[1].Data != small || c[3].Data != small || !out.Spilled {
		t.Fatalf("%+v %d blocks, %.300s", out, len(c), got)
	}
	if !strings.Contains(c[2].Text, "image/png of 12 MiB") || !strings.Contains(c[2].Text, out.Handle) {
		t.Errorf("%+v", c[2])
	}
	kept, err := o.Spool.Read(who, out.Handle)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	all, err := kept.Range(t.Context(), 0, 100)
	if err != nil || all.Total < int64(len(large)) || !strings.Contains(string(all.Text), "caption\n") || !strings.Contains(string(all.Text), "QUJDQUJD") {
		t.Errorf("what is kept: %d bytes, %v, %.100s", all.Total, err, all.Text)
	}
}
