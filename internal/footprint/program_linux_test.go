package footprint

import "testing"

func TestReadOnly(t *testing.T) {
	const program = "/opt/my tools/plimsoll"
	for mapping, want := range map[string][2]uintptr{
		"00400000-0112d000 r-xp 00000000 fe:00 10797755                           /opt/my tools/plimsoll":           {0x400000, 0xd2d000},
		"0112d000-02440000 r--p 00d2d000 fe:00 10797755                           /opt/my tools/plimsoll":           {0x112d000, 0x1313000},
		"02440000-024de000 rw-p 02040000 fe:00 10797755                           /opt/my tools/plimsoll":           {},
		"00400000-0112d000 r-xp 00000000 fe:00 10797755                           /opt/my tools/plimsoll (deleted)": {},
		"7f0000000000-7f0000001000 r-xp 00000000 fe:00 1                          /usr/lib/libc.so.6":               {},
		"7f0000000000-7f0000001000 r-xp 00000000 00:00 0":                                                           {},
		"zz-0112d000 r-xp 00000000 fe:00 1 /opt/my tools/plimsoll":                                                  {},
		"0112d000-00400000 r-xp 00000000 fe:00 1 /opt/my tools/plimsoll":                                            {},
		"": {},
	} {
		start, size, ok := readOnly(mapping, program)
		if start != want[0] || size != want[1] || ok != (want[1] > 0) {
			t.Errorf("%q: %x %x %v", mapping, start, size, ok)
		}
	}
}
