package secrets

import (
	"fmt"
	"strings"
	"testing"
)

// What `plimsoll run` pays for it when it starts, with the table read each time: it may take half a millisecond. The expressions of a rule
// are compiled only where its keyword is met.
func BenchmarkStart(b *testing.B) {
	environ := []string{"ANTHROPIC_API_KEY=" + planted, "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/dev"}
	for i := range 60 {
		environ = append(environ, fmt.Sprintf("SOME_VARIABLE_%d=/opt/tools/%d/bin", i, i))
	}
	argv := []string{"claude", "-p", "Explain why the page in internal/server/handler.go is rendered twice", "--output-format", "json", "--resume", "0f8fad5b-d9cb-469f-a165-70867728950e"}
	b.ReportAllocs()
	for b.Loop() {
		readFormats()
		Environ(environ).Argv(argv)
	}
}

func BenchmarkArgv(b *testing.B) {
	argv := []string{"bash", "-c", "cd /srv/app && git checkout 3d2f0c1e9a && npm ci --ignore-scripts && npm test -- --grep login"}
	for b.Loop() {
		Environ(nil).Argv(argv)
	}
}

// Prose of a conversation, before it is kept: most of it has nothing that looks like a secret.
func BenchmarkText(b *testing.B) {
	text := strings.Repeat("The handler in internal/server/page.go renders twice. It reads the file at 12:30, and writes v1.2.3 of it.\n", 500)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Text(text)
	}
}
