package proxy

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/plimsoll/plimsoll/journal"
)

func TestPeerIsFoundInTheKernelsTable(t *testing.T) {
	t.Parallel()
	for _, network := range []string{"127.0.0.1:0", "[::1]:0"} {
		ln, err := net.Listen("tcp", network)
		if err != nil {
			t.Logf("%s: %v", network, err)
			continue
		}
		defer ln.Close()
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		s, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		remote, local := s.RemoteAddr().(*net.TCPAddr).AddrPort(), s.LocalAddr().(*net.TCPAddr).AddrPort()
		uid, known, err := peerUID(remote, local)
		if err != nil || !known || uid != os.Getuid() {
			t.Errorf("%s: uid %d, known %v, %v; want %d", network, uid, known, err, os.Getuid())
		}
		nobody := netip.AddrPortFrom(remote.Addr(), 1)
		if _, _, err := peerUID(nobody, local); err == nil {
			t.Errorf("%s: a connection that does not exist is found", network)
		}
	}
}

// Another user of this machine is refused, whatever token they know.
func TestAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	curl, err := exec.LookPath("curl")
	if err != nil || os.Getuid() != 0 {
		t.Skip("only root can ask as somebody else, and needs curl for it")
	}
	for _, anybody := range []bool{false, true} {
		_, root, j := start(t, "http://127.0.0.1:1", Options{Token: testToken, AnyPeer: anybody})
		ask := exec.CommandContext(t.Context(), curl, "-s", "-o", "/dev/null", "-w", "%{http_code}", root+"/"+testToken+"/")
		ask.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		ask.Dir, ask.Env = "/", []string{"NO_PROXY=*"}
		status, err := ask.Output()
		want := "403"
		if anybody {
			want = "200"
		}
		if err != nil || string(status) != want {
			t.Errorf("any user allowed %v: another gets %s (%v), want %s", anybody, status, err, want)
		}
		if refused := events[journal.WindowRefused](j); !anybody && (len(refused) != 1 || refused[0].Reason != "peer") {
			t.Errorf("refused is %+v", refused)
		}
	}
}

// table is what /proc/net/tcp says of a connection of uid 1000 from 127.0.0.1:54321.
func table(state string, uid int) string {
	return "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
		"   0: 00000000:07E8 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1520 1 0000 100 0 0 10 0\n" +
		fmt.Sprintf("   1: 0100007F:D431 0100007F:1F90 %s 00000000:00000000 00:00000000 00000000  %d        0 99 1 0000 20 4 30 10 -1\n", state, uid) +
		fmt.Sprintf("   2: 0100007F:1F90 0100007F:D431 %s 00000000:00000000 00:00000000 00000000     7        0 98 1 0000 20 4 30 10 -1\n", state)
}

func TestConnectionTable(t *testing.T) {
	t.Parallel()
	remote, local := netip.MustParseAddrPort("127.0.0.1:54321"), netip.MustParseAddrPort("127.0.0.1:8080")
	for _, c := range []struct {
		text string
		want int
		ok   bool
	}{
		{table("01", 1000), 1000, true},
		{table("08", 1000), 1000, true},
		{table("06", 0), 0, false}, // closed: the kernel says 0 for whoever it was
		{table("04", 0), 0, false},
		{"", 0, false},
		{strings.TrimSuffix(table("01", 1000), "\n")[:160], 0, false},
	} {
		for _, r := range []string{"whole", "byte by byte"} {
			reader := strings.NewReader(c.text)
			uid, ok, err := 0, false, error(nil)
			if r == "whole" {
				uid, ok, err = scanConnections(reader, remote, local)
			} else {
				uid, ok, err = scanConnections(iotest.OneByteReader(reader), remote, local)
			}
			if err != nil || uid != c.want || ok != c.ok {
				t.Errorf("%s: uid %d, %v, %v; want %d, %v in\n%s", r, uid, ok, err, c.want, c.ok, c.text)
			}
		}
	}
	// The other end of the connection is not the peer.
	if uid, ok, _ := scanConnections(strings.NewReader(table("01", 1000)), local, remote); !ok || uid != 7 {
		t.Errorf("the listener's own end is uid %d, %v; want 7", uid, ok)
	}
	mapped := "   1: 0000000000000000FFFF00000100007F:D431 0000000000000000FFFF00000100007F:1F90 01 0:0 0:0 0  1001        0 99\n"
	if uid, ok, _ := scanConnections(strings.NewReader(mapped), remote, local); !ok || uid != 1001 {
		t.Errorf("an IPv4 connection of an IPv6 socket is uid %d, %v; want 1001", uid, ok)
	}
	if _, _, err := scanConnections(strings.NewReader(strings.Repeat("x", 70<<10)), remote, local); err == nil {
		t.Error("a line without an end is read for ever")
	}
}

func FuzzConnectionTable(f *testing.F) {
	f.Add(table("01", 1000))
	f.Add("1: 0100007F:D431 0100007F:1F90 01 a b c -5\n")
	f.Add("\n\n\x00")
	remote, local := netip.MustParseAddrPort("127.0.0.1:54321"), netip.MustParseAddrPort("127.0.0.1:8080")
	f.Fuzz(func(t *testing.T, text string) {
		uid, ok, _ := scanConnections(strings.NewReader(text), remote, local)
		if ok && (uid < 0 || !strings.Contains(text, "0100007F:D431") && !strings.Contains(text, "FFFF00000100007F:D431")) {
			t.Errorf("uid %d was found in %q", uid, text)
		}
	})
}
