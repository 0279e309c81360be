package metrics

import (
	"os"
	"testing"
)

// The name of a program may hold what ends it, and fields may be missing.
func TestStatWithANameAndWithout(t *testing.T) {
	const after = " S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 7 0 4242 2048000 25 18446744073709551615 1 1"
	for _, name := range []string{"plimsoll", "a) R 1 2 (3", "", "))"} {
		told := map[string]float64{}
		readStat(told, []byte("77 ("+name+")"+after))
		if told[processCPU] != 2 || told[processVirtual] != 2_048_000 || told[processResident] != 25*float64(os.Getpagesize()) {
			t.Errorf("with the name %q: %v", name, told)
		}
		if started := told[processStarted]; started != bootTime()+42.42 {
			t.Errorf("with the name %q: started at %v", name, started)
		}
	}
	for _, broken := range []string{"", "77 (x", "77 (x) S 1 2", "77 (x) S 1 2 3 4 5 6 7 8 9 10 x y"} {
		told := map[string]float64{}
		if readStat(told, []byte(broken)); len(told) != 0 {
			t.Errorf("%q tells %v", broken, told)
		}
	}
}

func TestNetstat(t *testing.T) {
	const other = "TcpExt: InOctets OutOctets\nTcpExt: 1 2\n"
	for text, want := range map[string][2]float64{
		other + "IpExt: InNoRoutes InOctets OutOctets\nIpExt: 0 300 18446744073709551615\n": {300, 18446744073709551615},
		other + "IpExt: InNoRoutes OutOctets\nIpExt: 0 7 8\n":                               {0, 7},
		other + "IpExt: InOctets OutOctets\nIpExt: 5\n":                                     {5, 0},
		other + "IpExt: InOctets OutOctets\n":                                               {0, 0},
		"":                                                                                  {0, 0},
	} {
		told := map[string]float64{}
		readNetstat(told, text)
		if told[processReceived] != want[0] || told[processSent] != want[1] {
			t.Errorf("%q tells %v", text, told)
		}
	}
}
