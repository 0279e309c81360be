package proxy

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"strconv"
)

const peerKnown = true

// peerUID returns the user who owns the socket at the other end of a TCP connection on this host. TCP has no peer credentials like those of
// Unix sockets (SO_PEERCRED), so the kernel's table of connections is read: the line whose local end is the peer's address. It is the table
// of our own network namespace; a peer that is not in it is an error. known is true without an error.
func peerUID(remote, local netip.AddrPort) (uid int, known bool, err error) {
	// The kernel writes the table piece by piece while connections come and go: a line may
	// be missed once, hardly ever every time.
	for range lookups {
		if uid, known, err = findOwner(remote, local); known || err != nil {
			return uid, known, err
		}
	}
	return 0, false, fmt.Errorf("no socket of this network namespace is at %s", remote)
}

const lookups = 5

// findOwner looks the connection from remote to local up in the kernel's tables and returns its user. known is false if no table has it;
// err is nil if all tables could be read.
func findOwner(remote, local netip.AddrPort) (uid int, known bool, err error) {
	var errs error
	for _, name := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		f, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) && errs == nil && name != "/proc/self/net/tcp" {
			continue // a kernel without IPv6
		}
		if err != nil {
			errs = errors.Join(errs, err)
			continue
		}
		uid, found, err := scanConnections(f, remote, local)
		_ = f.Close()
		if found {
			return uid, true, nil
		}
		errs = errors.Join(errs, err)
	}
	return 0, false, errs
}

const (
	established = "01"
	closeWait   = "08"
)

// scanConnections returns the user of the connection from remote to local in a table in the form of /proc/net/tcp or tcp6: "sl local rem st
// tx:rx tr:when retrnsmt uid …"; found is false if it is not there. A socket that its process has closed is listed with uid 0, so only a
// living one counts.
func scanConnections(r io.Reader, remote, local netip.AddrPort) (uid int, found bool, err error) {
	from4, from6 := tableAddress(remote)
	to4, to6 := tableAddress(local)
	buf := make([]byte, 64<<10)
	kept := 0
	for {
		n, err := r.Read(buf[kept:])
		chunk := buf[:kept+n]
		for {
			i := bytes.IndexByte(chunk, '\n')
			if i < 0 {
				break
			}
			line := chunk[:i]
			chunk = chunk[i+1:]
			if uid, ok := matchConnection(line, from4, to4); ok {
				return uid, true, nil
			}
			if uid, ok := matchConnection(line, from6, to6); ok {
				return uid, true, nil
			}
		}
		if len(chunk) == len(buf) {
			return 0, false, errors.New("a line of the table of connections is longer than 64 KiB")
		}
		kept = copy(buf, chunk)
		if errors.Is(err, io.EOF) {
			return 0, false, nil
		}
		if err != nil {
			return 0, false, err
		}
	}
}

// matchConnection returns the user in a line of the table, if that is the connection from from to to, established or half closed.
func matchConnection(line []byte, from, to string) (uid int, ok bool) {
	if from == "" || to == "" || !bytes.Contains(line, []byte(from)) {
		return 0, false
	}
	f := bytes.Fields(line)
	if len(f) < 8 || string(f[1]) != from || string(f[2]) != to {
		return 0, false
	}
	if st := string(f[3]); st != established && st != closeWait {
		return 0, false
	}
	uid, err := strconv.Atoi(string(f[7]))
	return uid, err == nil && uid >= 0
}

// tableAddress returns an address as the two tables have it: each 32-bit word in the byte order of the machine, then the port. v4 is "" for
// an IPv6 address. v6 of an IPv4 address is the mapped one, which a socket that speaks both uses.
func tableAddress(a netip.AddrPort) (v4, v6 string) {
	addr := a.Addr().Unmap()
	port := fmt.Sprintf(":%04X", a.Port())
	words := func(b []byte) string {
		var out []byte
		for ; len(b) >= 4; b = b[4:] {
			out = binary.BigEndian.AppendUint32(out, binary.NativeEndian.Uint32(b))
		}
		return string(bytes.ToUpper([]byte(hex.EncodeToString(out)))) + port
	}
	all := addr.As16()
	if addr.Is4() {
		four := addr.As4()
		v4 = words(four[:])
	}
	return v4, words(all[:])
}
