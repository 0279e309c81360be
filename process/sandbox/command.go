package sandbox

import (
	"os"
	"strings"
)

// environ returns the command's environment: the spec's, or ours, with the cookie.
func (s *Spec) environ() []string {
	env := s.Env
	if env == nil {
		env = os.Environ()
	}
	cookie := CookieName + "="
	marked := make([]string, 0, len(env)+1)
	for _, e := range env {
		if !strings.HasPrefix(e, cookie) {
			marked = append(marked, e)
		}
	}
	return append(marked, cookie+s.ID)
}

// streams returns the command's standard streams: the spec's, or ours.
func (s *Spec) streams() []*os.File {
	if s.Files != nil {
		return s.Files
	}
	return []*os.File{os.Stdin, os.Stdout, os.Stderr}
}
