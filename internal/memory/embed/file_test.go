package embed_test

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory/embed"
)

func file(t testing.TB) (embed.File, string) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return embed.File{Root: root, Name: "vectors"}, filepath.Join(dir, "vectors")
}

// entries are n vectors that differ.
func entries(n, dimensions int) []embed.Entry {
	r := rand.New(rand.NewPCG(1, uint64(dimensions)))
	out := make([]embed.Entry, n)
	for i := range out {
		v := make([]float32, dimensions)
		for j := range v {
			v[j] = float32(r.NormFloat64())
		}
		out[i].ID[0], out[i].ID[15], out[i].Version = uint8(i), uint8(i>>8), uint16(i%3)
		out[i].Vector, _ = embed.Quantize(v)
	}
	return out
}

func read(t testing.TB, f embed.File, model string) (keys []embed.Key, seen embed.ScanReport) {
	t.Helper()
	seen, err := f.Scan(t.Context(), model, func(e embed.Entry) { keys = append(keys, e.Key) })
	if err != nil {
		t.Fatal(err)
	}
	return keys, seen
}

func TestQuantize(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		a, b := make([]float32, 384), make([]float32, 384)
		var dot, aa, bb float64
		for i := range a {
			a[i], b[i] = float32(r.NormFloat64()), float32(r.NormFloat64())
			b[i] += a[i] * float32(r.Float64())
			dot, aa, bb = dot+float64(a[i])*float64(b[i]), aa+float64(a[i])*float64(a[i]), bb+float64(b[i])*float64(b[i])
		}
		v, _ := embed.Quantize(a)
		w, _ := embed.Quantize(b)
		if want := dot / math.Sqrt(aa*bb); math.Abs(float64(v.Cosine(w))-want) > 0.005 {
			t.Fatalf("cosine %g, want %g", v.Cosine(w), want)
		}
	}
	for _, bad := range [][]float32{nil, {0, 0}, {1, float32(math.NaN())}, {float32(math.Inf(1))}, make([]float32, embed.MaxDimensions+1)} {
		if v, ok := embed.Quantize(bad); ok {
			t.Errorf("%v becomes %v", bad[:min(len(bad), 3)], v)
		}
	}
}

func TestAppendAndKeep(t *testing.T) {
	t.Parallel()
	f, _ := file(t)
	all := entries(1000, 48)
	for from := 0; from < len(all); from += 250 {
		if err := f.Append(t.Context(), "m", all[from:from+250], func(k embed.Key) bool { return k.ID[0] != 7 }); err != nil {
			t.Fatal(err)
		}
	}
	keys, seen := read(t, f, "m")
	if len(keys) != 996 || seen.Dimensions != 48 || seen.Model != "m" || seen.Damaged != 0 || slices.ContainsFunc(keys, func(k embed.Key) bool { return k.ID[0] == 7 }) {
		t.Fatalf("%d keys, %+v", len(keys), seen)
	}
	// Vectors come back as they were.
	i := 0
	if _, err := f.Scan(t.Context(), "m", func(e embed.Entry) {
		for all[i].ID[0] == 7 {
			i++
		}
		if e.Key != all[i].Key || e.Scale != all[i].Scale || !slices.Equal(e.Values, all[i].Values) {
			t.Fatalf("vector %d is another one", i)
		}
		i++
	}); err != nil {
		t.Fatal(err)
	}
	gone, err := f.Prune(t.Context(), func(k embed.Key) bool { return k.ID[0] >= 100 })
	keys, _ = read(t, f, "m")
	if err != nil || gone != 396 || len(keys) != 600 {
		t.Fatalf("%d gone, %d left, %v", gone, len(keys), err)
	}
	if gone, err := f.Prune(t.Context(), func(embed.Key) bool { return true }); err != nil || gone != 0 {
		t.Error(gone, err)
	}
	// Another model, or other dimensions, begin anew.
	if keys, seen := read(t, f, "other"); len(keys) != 0 || seen.Model != "m" {
		t.Errorf("%d keys of another model; %+v", len(keys), seen)
	}
	if err := f.Append(t.Context(), "other", all[:3], nil); err != nil {
		t.Fatal(err)
	}
	if keys, _ := read(t, f, ""); len(keys) != 3 {
		t.Errorf("%d vectors of two models", len(keys))
	}
	if err := f.Append(t.Context(), "other", entries(2, 16), nil); err != nil {
		t.Fatal(err)
	}
	if keys, seen := read(t, f, "other"); len(keys) != 2 || seen.Dimensions != 16 {
		t.Errorf("%d vectors of two sizes", len(keys))
	}
	if _, err := f.Prune(t.Context(), func(embed.Key) bool { return false }); err != nil || f.Size() != 0 {
		t.Errorf("%d bytes are left, %v", f.Size(), err)
	}
}

// TestDamage: a cut costs the record that it is in, a wrong byte its own record, and the next writer goes on behind them.
func TestDamage(t *testing.T) {
	t.Parallel()
	const n, dimensions = 5, 12
	f, path := file(t)
	all := entries(n, dimensions)
	if err := f.Append(t.Context(), "m", all, nil); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	size := embed.RecordSize(dimensions)
	head := len(whole) - n*size
	for cut := range whole {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		keys, _ := read(t, f, "m")
		if want := max(cut-head, 0) / size; len(keys) != want {
			t.Fatalf("cut at %d of %d: %d vectors, want %d", cut, len(whole), len(keys), want)
		}
		if err := f.Append(t.Context(), "m", entries(n+1, dimensions)[n:], nil); err != nil {
			t.Fatal(err)
		}
		if again, seen := read(t, f, "m"); len(again) != len(keys)+1 || seen.Damaged != 0 {
			t.Fatalf("cut at %d: %d vectors after another one, %+v", cut, len(again), seen)
		}
	}
	for i := range whole {
		wrong := bytes.Clone(whole)
		wrong[i] ^= 0x41
		if err := os.WriteFile(path, wrong, 0o600); err != nil {
			t.Fatal(err)
		}
		var got int
		seen, err := f.Scan(t.Context(), "m", func(embed.Entry) { got++ })
		switch {
		case i < head && (got != 0 || !errors.Is(err, embed.ErrNewer)):
			t.Fatalf("byte %d of the head: %d vectors, %v", i, got, err)
		case i >= head && (got != n-1 || seen.Damaged != 1 || err != nil):
			t.Fatalf("byte %d: %d vectors, %+v, %v", i, got, seen, err)
		}
		if gone, err := f.Prune(t.Context(), func(embed.Key) bool { return true }); err != nil || i >= head && gone != 1 {
			t.Fatalf("byte %d: %d gone, %v", i, gone, err)
		}
		if keys, seen := read(t, f, "m"); seen.Damaged != 0 || i >= head && len(keys) != n-1 || i < head && f.Size() != 0 {
			t.Fatalf("byte %d: %d vectors after repair", i, len(keys))
		}
	}
}

func TestTurn(t *testing.T) {
	t.Parallel()
	f, _ := file(t)
	release, ok, err := f.Claim()
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	if _, ok, err := f.Claim(); ok || err != nil {
		t.Error("two at once", err)
	}
	release()
	release, ok, err = f.Claim()
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	release()
}

// A file with a hole is read as far as its vectors, takes what is added where it is found, and loses the hole.
func TestAHole(t *testing.T) {
	t.Parallel()
	f, path := file(t)
	all := entries(6, 12)
	if err := f.Append(t.Context(), "m", all[:3], nil); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 20<<30); err != nil {
		t.Skipf("no file with a hole can be made here: %v", err)
	}
	began := time.Now()
	if keys, seen := read(t, f, "m"); len(keys) != 3 || seen.Damaged == 0 {
		t.Errorf("%d vectors, %+v", len(keys), seen)
	}
	if err := f.Append(t.Context(), "m", all[3:5], nil); err != nil {
		t.Fatal(err)
	}
	if keys, _ := read(t, f, "m"); len(keys) != 5 {
		t.Errorf("%d vectors after more were added", len(keys))
	}
	if err := os.Truncate(path, 20<<30); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Prune(t.Context(), func(embed.Key) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 1<<20 {
		t.Errorf("%v, %v after it was rewritten", info, err)
	}
	if keys, _ := read(t, f, "m"); len(keys) != 5 {
		t.Errorf("%d vectors after it was rewritten", len(keys))
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}
