//go:build linux || darwin

package main

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"time"
)

// ask sends a question to the address in a variable, as a client of a model does: ask VARIABLE PATH. It prints the first
// line of the answer. With a FILE behind that it asks ten times a second until it is ended, and adds the lines to the file.
func ask(args []string) {
	base, err := url.Parse(os.Getenv(args[0]))
	check(err)
	if len(args) == 2 {
		fmt.Println(askOnce(base, args[1]))
		return
	}
	file, err := os.OpenFile(args[2], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	check(err)
	for {
		_, err := fmt.Fprintln(file, askOnce(base, args[1]))
		check(err)
		time.Sleep(100 * time.Millisecond)
	}
}

func askOnce(base *url.URL, path string) string {
	conn, err := net.Dial("tcp", base.Host)
	check(err)
	defer conn.Close()
	body := `{"model":"gpt-4o","messages":[{"role":"user","content":"hello"}]}`
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer key-of-the-user\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		strings.TrimSuffix(base.Path, "/")+path, base.Host, len(body), body)
	check(err)
	answer, err := io.ReadAll(conn)
	check(err)
	first, _, _ := strings.Cut(string(answer), "\r\n")
	return first
}
