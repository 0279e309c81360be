package limit_test

import (
	"errors"
	"testing"

	"github.com/plimsoll/plimsoll/limit"
)

func TestParseBytesReadsWhatPeopleWrite(t *testing.T) {
	for text, want := range map[string]limit.Bytes{
		"0": 0, "1": 1, "512M": 512 * limit.MiB, "4G": 4 * limit.GiB, "4g": 4 * limit.GiB,
		"1.5G": 1536 * limit.MiB, "64KiB": 64 * limit.KiB, "10 MB": 10 * limit.MiB, "2T": 2 * limit.TiB,
		" 7b ": 7, "0.5K": 512,
	} {
		got, err := limit.ParseBytes(text)
		if err != nil || got != want {
			t.Errorf("ParseBytes(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestParseBytesRefusesWhatIsNoSize(t *testing.T) {
	for _, text := range []string{
		"", "  ", "4GG", "G", "-1", "1..5G", "1e9", "9223372036854775808", "9000000T",
		"0.0001", "four", "4G4", "4 G B", "NaN", "Inf", "0x10", "\xff", "99999999999999999999999999.5",
	} {
		if got, err := limit.ParseBytes(text); !errors.Is(err, limit.ErrSize) {
			t.Errorf("ParseBytes(%q) = %d, %v; want an ErrSize", text, got, err)
		}
	}
}

func TestHumanRounds(t *testing.T) {
	for b, want := range map[limit.Bytes]string{
		0: "0 B", 999: "999 B", 1536: "1.5 KiB", 317 * limit.MiB: "317 MiB",
		1536 * limit.MiB: "1.5 GiB", 4 * limit.GiB: "4 GiB", 1000 * limit.MiB: "0.977 GiB",
	} {
		if got := b.Human(); got != want {
			t.Errorf("Bytes(%d).Human() = %q, want %q", b, got, want)
		}
	}
}

func FuzzParseBytes(f *testing.F) {
	for _, s := range []string{"512M", "1.5GiB", "4GG", "", "9223372036854775807", "0.5", "1.7976931348623157e308"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b, err := limit.ParseBytes(s)
		if err != nil {
			return
		}
		if b < 0 {
			t.Fatalf("ParseBytes(%q) = %d, a negative size", s, b)
		}
		if again, err := limit.ParseBytes(b.String()); err != nil || again != b {
			t.Fatalf("ParseBytes(%q) = %d, but its String %q parses as %d, %v", s, b, b.String(), again, err)
		}
	})
}
