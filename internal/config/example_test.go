package config_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/plimsoll/plimsoll/internal/config"
)

func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(file, []byte("[tools.codex]\nmemory_max = \"6G\"\n"), 0o600); err != nil {
		panic(err)
	}

	cfg, err := config.Load(config.Options{Dir: dir, Environ: []string{"PLIMSOLL_CONFIG=" + file, "PLIMSOLL_RESOURCES_PIDS_MAX=300"}})
	if err != nil {
		panic(err) // an *Error lists all that is wrong, with file:line:column
	}
	match := cfg.Tool([]string{"npx", "-y", "@openai/codex", "exec", "fix the tests"})
	s, err := cfg.For(match.Tool)
	if err != nil {
		panic(err)
	}
	fmt.Println(match.Tool, "via", match.Via)
	fmt.Println("memory_max", s.MemoryMax, "set in", filepath.Base(s.Source("memory_max").String()))
	fmt.Println("pids_max", s.PidsMax, "set by", s.Source("pids_max"))
	fmt.Println("initial_estimate", s.InitialEstimate.Human(), "from", s.Source("initial_estimate"))
	// Output:
	// codex via [npx]
	// memory_max 6G set in config.toml:2:1
	// pids_max 300 set by PLIMSOLL_RESOURCES_PIDS_MAX
	// initial_estimate 4 GiB from built-in profile codex
}
