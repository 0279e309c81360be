package wrap

import (
	"fmt"
	"net/http"
	"strings"
)

// maxHeaders bounds the headers of a remote server.
const maxHeaders = 64

// FromEnvironment returns the address and headers of a wrapped remote server that its entry has put into the environment of `plimsoll mcp`:
// url is "" if the address is an argument, headers is nil if there are none. Errors name the variable, never its value.
func FromEnvironment(lookup func(name string) (value string, ok bool)) (url string, headers http.Header, err error) {
	url, _ = lookup(URLVariable)
	for i := 1; i <= maxHeaders; i++ {
		variable := fmt.Sprintf("%s%d", HeaderVariable, i)
		text, ok := lookup(variable)
		if !ok {
			break
		}
		name, value, ok := strings.Cut(text, ":")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(text, "\r\n\x00") {
			return "", nil, fmt.Errorf("the variable %s is not of the form \"Name: value\" on one line: correct it in the client's configuration", variable)
		}
		if headers == nil {
			headers = http.Header{}
		}
		headers.Add(name, strings.TrimSpace(value))
	}
	return url, headers, nil
}
