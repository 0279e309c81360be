package run

import (
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

func TestWorkHandedOverIsToldOnceWithItsOwnBound(t *testing.T) {
	for line, want := range map[string]string{
		"docker run -it ubuntu":               "docker run --memory 2048m --pids-limit 128",
		"podman run ubuntu":                   "podman run --memory 2048m --pids-limit 128",
		"docker build .":                      "--driver-opt memory=2048m",
		"docker buildx bake":                  "--driver-opt memory=2048m",
		"buildctl build --frontend x":         "--driver-opt memory=2048m",
		"podman build .":                      "podman build --memory 2048m",
		"docker compose up":                   "mem_limit: 2048m",
		"docker-compose up":                   "mem_limit: 2048m",
		"docker exec -it web sh":              "docker update --memory 2048m",
		"systemd-run --user make":             "systemd-run -p MemoryMax=2048M -p TasksMax=128",
		"at now":                              "plimsoll run in the job itself",
		"docker ps":                           "",
		"docker logs -f web":                  "",
		"docker run -m 2g ubuntu":             "bounded",
		"podman build --memory=2g .":          "bounded",
		"systemd-run -p MemoryMax=2G make":    "bounded",
		"make docker run":                     "",
		"docker-compose-switch compose up -d": "",
	} {
		var said []string
		h := &handed{memory: 2 * limit.GiB, pids: 128, warn: func(text string) { said = append(said, text) }}
		words := strings.Fields(line)
		for range 2 {
			h.check(words[0], words[1:], true)
		}
		over, command := h.finish(&sandbox.Result{})
		switch {
		case over != (want != "") || command != over:
			t.Errorf("%s: handed over %t, by the command %t", line, over, command)
		case want == "" || want == "bounded":
			if len(said) > 0 {
				t.Errorf("%s: said %q", line, said)
			}
		case len(said) != 1 || !strings.Contains(said[0], want):
			t.Errorf("%s: said %q, want one line with %q", line, said, want)
		}
	}
}

// What left the group is told where nothing was told yet, and only the command itself keeps a run from being learnt from.
func TestWhoLeftTheGroupIsTold(t *testing.T) {
	var said []string
	h := &handed{warn: func(text string) { said = append(said, text) }}
	if over, command := h.finish(&sandbox.Result{Moved: []string{"conmon", "conmon", "a\x1b[2Jb"}}); !over || command {
		t.Errorf("handed over %t, by the command %t", over, command)
	}
	if _, command := h.finish(&sandbox.Result{Moved: []string{"make"}, CommandMoved: true}); !command {
		t.Error("the command itself has left")
	}
	if len(said) != 1 || !strings.HasPrefix(said[0], "3 processes left the control group") || strings.Contains(said[0], "\x1b") {
		t.Errorf("said %q", said)
	}
}
