// Package shellwords splits a command line that somebody wrote as for a shell into its words, without
// a shell: quotes and backslashes count, and nothing is expanded or run. It quotes words for one too.
//
//	words, err := shellwords.Split(`npx -y 'a server' "$HOME"`) // npx, -y, a server, $HOME
//
// Both may be called from any goroutine. It is tested on the quotes that a POSIX shell knows, and fuzzed.
package shellwords
