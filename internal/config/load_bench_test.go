package config_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// BenchmarkLoad is what every command pays first, and what the largest files cost that are
// read at all.
func BenchmarkLoad(b *testing.B) {
	var tools, nonsense, deep strings.Builder
	for i := range 8000 {
		fmt.Fprintf(&tools, "[tools.t%d]\nmatch=['m%d']\n", i, i)
	}
	for i := range 20_000 {
		fmt.Fprintf(&nonsense, "key%d = 1\n", i)
	}
	deep.WriteString("[resources]\n" + strings.Repeat("a.", 100_000) + "b = " + strings.Repeat("[", 9000) + "\n")
	for name, text := range map[string]string{
		"none": "", "usual": "[resources]\nmemory_max = '4G'\n[tools.codex]\npids_max = 300\n",
		"many-tools": tools.String(), "all-wrong": nonsense.String(), "deep": deep.String(),
	} {
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			file := filepath.Join(dir, "config.toml")
			if name != "none" {
				testfile.Write(b, file, text)
			}
			o := config.Options{Dir: dir, Environ: []string{"HOME=" + dir, "PLIMSOLL_CONFIG=" + file}}
			for b.Loop() {
				l, err := config.Load(o)
				if (err != nil) != (name == "all-wrong" || name == "deep") {
					b.Fatal(err)
				}
				if err == nil {
					l.Tool([]string{"npx", "-y", "@openai/codex"})
				}
			}
		})
	}
}
