package proctree

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// errFormat is wrapped by the errors of the parsers.
var errFormat = errors.New("unexpected format")

// parseStat reads /proc/PID/stat (proc_pid_stat(5)). The name is the second field, in
// parentheses, and may hold parentheses, blanks, newlines and any other byte, so it ends
// at the last ") " of the line: what follows are one letter and numbers. What the errors quote is a copy, so that b may be on the stack.
func parseStat(b []byte) (Process, error) {
	var p Process
	open := bytes.IndexByte(b, '(')
	end := bytes.LastIndex(b, []byte(") "))
	if open < 1 || end < open {
		return p, fmt.Errorf("%w: stat %.64q has no name in parentheses", errFormat, string(b))
	}
	pid, rest, ok := parseNumber(b[:open])
	if !ok || len(bytes.TrimSpace(rest)) != 0 || pid > math.MaxInt32 {
		return p, fmt.Errorf("%w: stat %.64q does not begin with a pid", errFormat, string(b))
	}
	p.PID = int(pid)
	p.Name = string(b[open+1 : end])
	b = b[end+2:]
	if len(b) < 2 || b[1] != ' ' || b[0] <= ' ' || b[0] >= 0x7f {
		return p, fmt.Errorf("%w: stat of %d has no state", errFormat, p.PID)
	}
	p.State = b[0]
	b = b[1:]
	// Fields are counted from 1 as in the manual page; the state was number 3.
	for field := 4; field <= 22; field++ {
		value, rest, ok := parseNumber(b)
		if !ok {
			return p, fmt.Errorf("%w: stat of %d has no number in field %d", errFormat, p.PID, field)
		}
		b = rest
		if field <= 6 || field == 20 {
			if value > math.MaxInt32 {
				return p, fmt.Errorf("%w: stat of %d has %d in field %d", errFormat, p.PID, value, field)
			}
		}
		switch field {
		case 4:
			p.PPID = int(value)
		case 5:
			p.PGID = int(value)
		case 6:
			p.SID = int(value)
		case 9:
			const kernelThread, exiting = 0x00200000, 0x00000004 // PF_KTHREAD, PF_EXITING of include/linux/sched.h
			p.kernel = value&kernelThread != 0
			p.ending = value&exiting != 0
		case 14, 15: // in user mode, in the kernel
			p.CPU += time.Duration(min(value, maxTicks)) * clockTick
		case 16, 17:
			p.Waited += time.Duration(min(value, maxTicks)) * clockTick
		case 20:
			p.Threads = int(value)
		case 22:
			p.Start = value
		}
	}
	return p, nil
}

// clockTick is the unit of times in stat: USER_HZ is 100 on every Linux port that Go has. maxTicks is more than any
// process used: 1,000 years on 1,000 processors are 3e15 ticks, which a Duration could not hold.
const (
	clockTick = 10 * time.Millisecond
	maxTicks  = math.MaxInt64 / 4 / uint64(clockTick)
)

// parseNumber reads one decimal number after blanks. A negative number (priorities, a missing terminal) is read as 0. ok is false when there is none
// or it exceeds 64 bits.
func parseNumber(b []byte) (value uint64, rest []byte, ok bool) {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	i := 0
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		digit := uint64(b[i] - '0')
		if value > (math.MaxUint64-digit)/10 {
			return 0, b, false
		}
		value = value*10 + digit
		i++
	}
	if i == 0 {
		return 0, b, false
	}
	if negative {
		value = 0
	}
	return value, b[i:], true
}

// statm is the content of /proc/PID/statm, in pages.
type statm struct{ resident, shared, data uint64 }

// privatePages returns the number of pages that are resident and not shared with a file or tmpfs.
func (s statm) privatePages() uint64 { return s.resident - min(s.resident, s.shared) }

// parseStatm reads "size resident shared text lib data dt" (proc_pid_statm(5)). It does not allocate
// when it succeeds.
func parseStatm(b []byte) (statm, error) {
	var fields [6]uint64
	rest := b
	for i := range fields {
		var ok bool
		if fields[i], rest, ok = parseNumber(rest); !ok || fields[i] > maxPages {
			return statm{}, fmt.Errorf("%w: statm %.64q", errFormat, string(b))
		}
	}
	return statm{fields[1], fields[2], fields[5]}, nil
}

// maxPages is more than any process has: 64 TiB in pages of 4 KiB. Sums saturate (see addSaturating), so that a damaged file cannot turn a
// tree's figure negative.
const maxPages = 1 << 34

// parseKilobytes reads the value of "Name: 123 kB" from a file of such lines (proc_pid_status(5), proc_pid_smaps(5)). ok is false when there is no
// such line, when it is no number, or when it exceeds the largest memory that addresses can name.
func parseKilobytes(b []byte, name string) (limit.Bytes, bool) {
	for len(b) > 0 {
		line := b
		if end := bytes.IndexByte(b, '\n'); end >= 0 {
			line, b = b[:end], b[end+1:]
		} else {
			b = nil
		}
		if len(line) <= len(name) || line[len(name)] != ':' || string(line[:len(name)]) != name {
			continue
		}
		value, rest, ok := parseNumber(line[len(name)+1:])
		if !ok || value > 1<<47 || string(bytes.TrimSpace(rest)) != "kB" {
			return 0, false
		}
		return limit.Bytes(value) * limit.KiB, true
	}
	return 0, false
}

// rollup is the content of /proc/PID/smaps_rollup, in bytes; shared pages are divided among
// those who map them.
type rollup struct{ rss, anon, file, shmem, swap limit.Bytes }

// parseRollup reads smaps_rollup. Pss_Anon, Pss_File and Pss_Shmem exist since Linux 5.4;
// before, the private part counts as anonymous and the rest of Pss as file.
func parseRollup(b []byte) (rollup, error) {
	var r rollup
	pss, ok := parseKilobytes(b, "Pss")
	if !ok {
		return r, fmt.Errorf("%w: smaps_rollup %.64q has no Pss", errFormat, b)
	}
	r.rss = pss
	r.swap, _ = parseKilobytes(b, "SwapPss")
	var split bool
	if r.anon, split = parseKilobytes(b, "Pss_Anon"); split {
		r.file, _ = parseKilobytes(b, "Pss_File")
		r.shmem, _ = parseKilobytes(b, "Pss_Shmem")
		return r, nil
	}
	dirty, _ := parseKilobytes(b, "Private_Dirty")
	r.anon = min(dirty, pss)
	r.file = pss - r.anon
	return r, nil
}

// cookieSearch looks for one entry in an environment that arrives in pieces: entries are
// separated by NUL.
type cookieSearch struct {
	cookie  string
	matched int  // bytes of the current entry that equal the cookie's
	failed  bool // the current entry differs from the cookie
}

// feed takes the next piece and reports whether the entry was found complete. An entry
// that ends with the environment counts only through done.
func (s *cookieSearch) feed(piece []byte) bool {
	for _, c := range piece {
		switch {
		case c == 0:
			if s.endsWithCookie() {
				return true
			}
			s.matched, s.failed = 0, false
		case s.failed:
		case s.matched < len(s.cookie) && s.cookie[s.matched] == c:
			s.matched++
		default:
			s.failed = true
		}
	}
	return false
}

// endsWithCookie reports whether the entry under way equals the cookie; it is asked at the end of the environment.
func (s *cookieSearch) endsWithCookie() bool {
	return !s.failed && s.matched == len(s.cookie) && s.matched > 0
}
