package smallpages

import "testing"

func TestWritable(t *testing.T) {
	for line, want := range map[string]uintptr{
		"1c8b35400000-1c8b35c00000 rw-p 00000000 00:00 0":                      8 << 20,
		"02788000-028c3000 rw-p 02388000 fe:00 10797755   /usr/bin/plimsoll\n": 0x13b000,
		"00400000-0112d000 r-xp 00000000 fe:00 10797755   /usr/bin/plimsoll":   0,
		"7f9d89dc3000-7f9d8a0d5000 rw-s 00000000 00:01 4    /dev/zero":         0,
		"28c3000-28c3000 rw-p": 0,
		"zz-1 rw-p":            0,
		"-":                    0,
		"":                     0,
	} {
		if _, size, ok := writableMapping(line); size != want || ok != (want > 0) {
			t.Errorf("%q: %d bytes, %t, want %d", line, size, ok, want)
		}
	}
}
