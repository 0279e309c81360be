package listen_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/app/listen"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/systemd"
	"github.com/plimsoll/plimsoll/internal/window/proxy"
)

// TestReadyIsSaidLast: the ready file and READY=1 come when everything is recorded, for who waited for one of them looks it up at once.
func TestReadyIsSaidLast(t *testing.T) {
	dir := t.TempDir()
	file, socket := filepath.Join(dir, "ready"), filepath.Join(dir, "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	service, err := systemd.Take()
	if err != nil {
		t.Fatal(err)
	}
	settings := config.Settings{Serve: config.ServeSettings{Listen: "127.0.0.1:0"}}
	door, err := listen.Door(settings, "", proxy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer door.Close()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	recorded, announced, ended := "", make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- listen.Until(ctx, listen.Options{
			Serve: settings.Serve, Door: door, Handler: http.NotFoundHandler(), ReadyFile: file, Path: "/x", Service: service,
			Ready: func(url string) {
				defer close(announced)
				if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("the ready file is there before the address is recorded: %v", err)
				}
				if got, err := received(manager); !errors.Is(err, unix.EAGAIN) {
					t.Errorf("the service manager heard %q before the address was recorded, %v", got, err)
				}
				recorded = url
			},
			Warn: func(text string) { t.Errorf("it warns: %s", text) },
			End:  func() error { return nil },
		})
	}()
	select {
	case <-announced:
	case err := <-ended:
		t.Fatalf("it ended: %v", err)
	}
	heard := make([]byte, 512)
	if err := manager.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	n, err := manager.Read(heard)
	if err != nil || !strings.HasPrefix(string(heard[:n]), "READY=1\n") {
		t.Fatalf("the service manager heard %q, %v", heard[:n], err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != recorded+"/x\n" {
		t.Errorf("the ready file holds %q, %v; %q was recorded", text, err, recorded)
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the ready file stays: %v", err)
	}
}

// received is what a socket has received already; the error is [unix.EAGAIN] when that is nothing.
func received(conn *net.UnixConn) (text string, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return "", err
	}
	b := make([]byte, 512)
	n := 0
	if e := raw.Read(func(fd uintptr) bool {
		n, _, err = unix.Recvfrom(int(fd), b, unix.MSG_DONTWAIT)
		return true
	}); e != nil {
		return "", e
	}
	return string(b[:max(n, 0)]), err
}
