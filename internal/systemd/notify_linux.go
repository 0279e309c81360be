package systemd

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"
)

// Ready notifies the service manager that requests are taken. status is one line for `systemctl status`.
func (s *Service) Ready(status string) error {
	return s.send("READY=1\n" + statusLine(status))
}

// Stopping notifies the service manager that the end has begun.
func (s *Service) Stopping(status string) error {
	return s.send("STOPPING=1\n" + statusLine(status))
}

// maxStatus bounds what is shown, in bytes; systemctl shows one line.
const maxStatus = 512

func statusLine(text string) string {
	text = strings.ToValidUTF8(text[:min(len(text), maxStatus)], "")
	return "STATUS=" + strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f { // a line break would begin another assignment
			return ' '
		}
		return r
	}, text)
}

// patience limits the wait for a service manager that does not read.
const patience = time.Second

// send sends one datagram, if somebody waits for it.
func (s *Service) send(state string) error {
	if s == nil || s.notify == "" {
		return nil
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: s.notify, Net: "unixgram"})
	if err == nil {
		defer conn.Close()
		if err = conn.SetWriteDeadline(time.Now().Add(patience)); err == nil {
			_, err = conn.Write([]byte(state))
		}
	}
	if err != nil {
		return fmt.Errorf("tell the service manager (NOTIFY_SOCKET=%s): %w", s.notify, err)
	}
	return nil
}

// Watch gives the watchdog a sign of life twice in each of its periods, until ctx ends, and only when alive returns nil
// within half of that. It returns at once when there is no watchdog. warn is called with the first of several failures.
func (s *Service) Watch(ctx context.Context, alive func(context.Context) error, warn func(string)) {
	if s == nil || s.watchdog == 0 || s.notify == "" {
		return
	}
	tick := time.NewTicker(s.watchdog / 2)
	defer tick.Stop()
	failed := false
	for {
		asked, cancel := context.WithTimeout(ctx, s.watchdog/4)
		err := alive(asked)
		cancel()
		if err == nil {
			err = s.send("WATCHDOG=1")
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil && !failed {
			warn(fmt.Sprintf("the watchdog of the service manager gets no sign of life: %v; it restarts the service %s after the last one", err, s.watchdog))
		}
		failed = err != nil
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
