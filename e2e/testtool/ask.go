//go:build linux || darwin

package main

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
)

// ask sends a question to the address in a variable, as a client of a model does: ask VARIABLE PATH. It prints the first
// line of the answer.
func ask(args []string) {
	base, err := url.Parse(os.Getenv(args[0]))
	check(err)
	conn, err := net.Dial("tcp", base.Host)
	check(err)
	defer conn.Close()
	body := `{"model":"gpt-4o","messages":[{"role":"user","content":"hello"}]}`
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer key-of-the-user\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		strings.TrimSuffix(base.Path, "/")+args[1], base.Host, len(body), body)
	check(err)
	answer, err := io.ReadAll(conn)
	check(err)
	first, _, _ := strings.Cut(string(answer), "\r\n")
	fmt.Println(first)
}
