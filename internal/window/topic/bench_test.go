package topic_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/window/topic"
)

// BenchmarkNewest reads a session of half a megabyte: 300 calls, a list of things to do every tenth, git every fifth.
func BenchmarkNewest(b *testing.B) {
	for _, chat := range []bool{false, true} {
		k := newTalk(chat).user("Mend it.")
		for i := range 300 {
			switch {
			case i%10 == 0:
				k.call("TodoWrite", todos("read it", "mend it", fmt.Sprint("step ", i)), "ok", false)
			case i%5 == 0:
				k.call("Bash", shell("cd /repo && git status && git diff --stat"), strings.Repeat("a line of a diff\n", 100), false)
			default:
				k.call("Read", fmt.Sprintf(`{"file_path":"/repo/%d.go"}`, i), strings.Repeat("a line of code\n", 120), false)
			}
		}
		r := k.says("Done.").user("And now the docs.").request(b)
		b.Run(r.Dialect.String(), func(b *testing.B) {
			b.SetBytes(int64(len(r.Body)))
			for b.Loop() {
				if _, ok := topic.Newest(r, topic.Options{}); !ok {
					b.Fatal("it stands at no boundary")
				}
			}
		})
	}
}
