package inventory

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/argocd"
)

// Whatever the memory, the sizes and how much is wanted: the order is that of a stable sort.
func TestSorterEqualsAStableSort(t *testing.T) {
	t.Parallel()
	type pair struct{ key, row string }
	for seed := range uint64(sorts) {
		random := rand.New(rand.NewPCG(seed, 1))
		v := newInventory(t, Options{})
		s := &sorter{d: v.disk, limit: 64 + random.IntN(4000), keep: random.IntN(2) * (1 + random.IntN(300))}
		var want []pair
		for i := range random.IntN(800) {
			size := random.IntN(40)
			if random.IntN(100) == 0 {
				size = 20_000 // more than all the memory
			}
			p := pair{fmt.Sprintf("key %d", random.IntN(100)), fmt.Sprintf("%d %s", i, strings.Repeat("x", size))}
			want = append(want, p)
			if err := s.addRecord([]byte(p.key), []byte(p.row)); err != nil {
				t.Fatal(err)
			}
		}
		slices.SortStableFunc(want, func(a, b pair) int { return strings.Compare(a.key, b.key) })
		if s.keep > 0 {
			want = want[:min(s.keep, len(want))]
		}
		var got []pair
		if err := s.forEach(func(key, row []byte) error {
			got = append(got, pair{string(key), string(row)})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		s.close()
		if !slices.Equal(want, got) {
			t.Fatalf("seed %d (limit %d, keep %d, %d runs): another order", seed, s.limit, s.keep, s.runsWritten)
		}
	}
}

// What is on the disk is given up before it is believed.
func TestDamagedScratch(t *testing.T) {
	t.Parallel()
	v := newInventory(t, Options{})
	s := &sorter{d: v.disk, limit: 1000}
	defer s.close()
	for i := range 100 {
		if err := s.addRecord(fmt.Appendf(nil, "%03d", i), bytes.Repeat([]byte("x"), 50)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.file.flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.file.f.WriteAt(binary.AppendUvarint(nil, 1<<50), 0); err != nil {
		t.Fatal(err)
	}
	if err := s.forEach(func([]byte, []byte) error { return nil }); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("impossible lengths: %v", err)
	}
	if err := s.file.f.Truncate(30); err != nil {
		t.Fatal(err)
	}
	c := &sorter{d: v.disk, file: s.file, runs: []run{{20, 1000}}}
	if err := c.mergeRuns(c.runs, func([]byte, []byte) error { return nil }); err == nil {
		t.Error("a file that is cut is believed")
	}
}

func TestErrorsEndASort(t *testing.T) {
	t.Parallel()
	v := newInventory(t, Options{})
	stop := errors.New("stop")
	for _, limit := range []int{100, 1 << 20} {
		s := &sorter{d: v.disk, limit: limit}
		for i := range 100 {
			if err := s.addRecord(fmt.Appendf(nil, "%d", i), nil); err != nil {
				t.Fatal(err)
			}
		}
		n := 0
		if err := s.forEach(func([]byte, []byte) error { n++; return stop }); !errors.Is(err, stop) || n != 1 {
			t.Errorf("%v after %d", err, n)
		}
		s.close()
	}
}

// Counting on the disk gives what counting in memory would.
func TestManyProjects(t *testing.T) {
	t.Parallel()
	v := newInventory(t, Options{})
	c := newCounter(argocd.Applications, v.disk, 8<<10)
	defer c.close()
	random := rand.New(rand.NewPCG(3, 4))
	want := map[string]int{}
	for range 60_000 {
		name := fmt.Sprintf("p%d", random.IntN(1+random.IntN(20_000)))
		want[name]++
		if err := c.countEntry(&entry{kind: argocd.Applications, project: []byte(name)}); err != nil {
			t.Fatal(err)
		}
	}
	counts, err := c.finish()
	if err != nil {
		t.Fatal(err)
	}
	var all []ProjectCount
	for _, name := range slices.Sorted(maps.Keys(want)) {
		all = append(all, ProjectCount{name, want[name]})
	}
	slices.SortStableFunc(all, func(a, b ProjectCount) int { return b.Count - a.Count })
	other := 0
	for _, p := range all[topProjects:] {
		other += p.Count
	}
	if !reflect.DeepEqual(counts.Projects, all[:topProjects]) || counts.OtherProjects != len(all)-topProjects || counts.InOtherProjects != other {
		t.Errorf("%+v, want %v and %d in %d others", counts, all[:topProjects], other, len(all)-topProjects)
	}
	if len(want) < 2*maxNames {
		t.Errorf("%d projects test nothing", len(want))
	}
}

func TestStatusesAreBounded(t *testing.T) {
	t.Parallel()
	v := newInventory(t, Options{})
	c := newCounter(argocd.Clusters, v.disk, 8<<10)
	for i := range 1000 {
		if err := c.countEntry(&entry{kind: argocd.Clusters, sync: fmt.Appendf(nil, "made up %d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	counts, err := c.finish()
	if err != nil || len(counts.Connection) != maxStatuses+1 || counts.Connection[otherStatus] != 1000-maxStatuses {
		t.Errorf("%v %v", err, counts)
	}
}
