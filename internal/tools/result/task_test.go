package result

import (
	"strings"
	"testing"
)

func TestTaskThatFailed(t *testing.T) {
	o := options(open(t))
	o.Method = GetTask
	got, out := bound(t, frame(`{"jsonrpc":"2.0","id":7,"result":{"taskId":"a","error":{"code":-1,"message":"`+strings.Repeat("x", 100_000)+`"},"ttlMs":5}}`, 200), o)
	if !out.Failed || len(got) > 20_000 || !strings.HasPrefix(string(got), `{"jsonrpc":"2.0","id":7,"result":{"taskId":"a","ttlMs":5,"error":{"code":-1,"message":"xxx`) || !strings.HasSuffix(string(got), `x"}}}`) {
		t.Errorf("%+v %.300s", out, got)
	}
}
