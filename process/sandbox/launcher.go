package sandbox

import (
	"slices"
	"strings"
)

// launchers are commands that start another one and then only wait for it. npm gives its
// process the title "npm exec PACKAGE".
var launchers = []string{
	"sh", "bash", "dash", "zsh", "ash", "busybox", "env", "nice", "timeout", "stdbuf", "sudo",
	"npx", "npm", "pnpm", "yarn", "bunx", "uv", "uvx", "pipx",
}

func isLauncher(name string) bool {
	word, _, _ := strings.Cut(name, " ")
	return slices.Contains(launchers, word)
}
