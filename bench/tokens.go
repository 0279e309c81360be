package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unicode"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"

	"github.com/plimsoll/plimsoll/window/tokens"
	"github.com/plimsoll/plimsoll/window/wire"
)

func init() {
	register("tokens", "counting tokens (MB/s, allocations per MB) against tiktoken-go", benchTokens)
}

// The library takes half a second for a megabyte; on a text of one letter it needs
// quadratic time, so it gets the first few kilobytes of those.
const (
	tokenText      = 1 << 20
	tokenBaseline  = 64 << 10
	tokenHostile   = 4 << 10
	tokenRounds    = 9
	tokenRoundTime = 20 * time.Millisecond
)

type tokenCase struct {
	name    string
	text    []byte
	hostile bool
}

func benchTokens(ctx context.Context, o *Out, args []string) error {
	only := ""
	if len(args) > 0 {
		only = args[0]
	}
	live := liveHeap()
	encodings := []*tokens.Encoding{tokens.O200K(), tokens.CL100K()}
	for _, e := range encodings {
		e.Count([]byte("first use"))
	}
	after := liveHeap()
	tiktoken.SetBpeLoader(loader.NewOfflineLoader())
	libraries := map[string]*tiktoken.Tiktoken{}
	for _, e := range encodings {
		lib, err := tiktoken.GetEncoding(e.Name())
		if err != nil {
			return err
		}
		libraries[e.Name()] = lib
	}
	o.Add(Row{
		Case: "both encodings", Metric: "live heap after first use", Value: float64(after - live), Unit: "B",
		Baseline: "tiktoken-go", BaselineValue: float64(liveHeap() - after),
	})
	cases, err := tokenCases(ctx)
	if err != nil {
		return err
	}
	for _, e := range encodings {
		lib := libraries[e.Name()]
		for _, c := range cases {
			if err := ctx.Err(); err != nil {
				return err
			}
			if !strings.Contains(c.name, only) {
				continue
			}
			base := c.text[:min(len(c.text), tokenBaseline)]
			if c.hostile {
				base = c.text[:tokenHostile]
			}
			base = bytes.ToValidUTF8(base, nil)
			if got, want := e.Count(base), len(lib.EncodeOrdinary(string(base))); got != want {
				return fmt.Errorf("%s %s: %d tokens, tiktoken-go has %d", e.Name(), c.name, got, want)
			}
			ours, oursAllocs := tokenSpeed(c.text, func(text []byte) { e.Count(text) })
			theirs, theirsAllocs := tokenSpeed(base, func(text []byte) { lib.EncodeOrdinary(string(text)) })
			name := e.Name() + " " + c.name
			o.Add(Row{Case: name, Metric: "speed", Value: ours, Unit: "MB/s", Baseline: "tiktoken-go", BaselineValue: theirs})
			o.Add(Row{Case: name, Metric: "allocations", Value: oursAllocs, Unit: "per MB", Baseline: "tiktoken-go", BaselineValue: theirsAllocs})
			if c.hostile {
				continue
			}
			literal, err := json.Marshal(string(c.text))
			if err != nil {
				return err
			}
			speed, allocs := tokenSpeed(literal, func(text []byte) { e.CountLiteral(text) })
			o.Add(Row{Case: name + " (literal)", Metric: "speed", Value: speed, Unit: "MB/s"})
			o.Add(Row{Case: name + " (literal)", Metric: "allocations", Value: allocs, Unit: "per MB"})
		}
	}
	if err := benchTally(o, only); err != nil {
		return err
	}
	o.Note("Both count the same text on one core in turn, best of %d rounds; every figure was checked for the same number of tokens.", tokenRounds)
	o.Note("The library gets the first %d KB of a text, and %d KB of a hostile one, for which its merging is quadratic.", tokenBaseline>>10, tokenHostile>>10)
	return nil
}

// benchTally times a whole request of 300 KB: never seen, and seen before with one new
// message. The baseline is hashing the body once.
func benchTally(o *Out, only string) error {
	if !strings.Contains("300 KB request", only) {
		return nil
	}
	code, prose, err := tokenSources(context.Background())
	if err != nil {
		return err
	}
	request := func(size int) (*wire.Request, error) {
		var messages []map[string]any
		for at := 0; at < size; at += 3000 {
			id := fmt.Sprint("call_", at)
			messages = append(messages,
				map[string]any{"role": "assistant", "content": string(prose[at/3 : at/3+500]), "tool_calls": []any{map[string]any{
					"id": id, "type": "function", "function": map[string]any{"name": "read", "arguments": `{"path":"main.go"}`},
				}}},
				map[string]any{"role": "tool", "tool_call_id": id, "content": string(code[at : at+2200])})
		}
		body, err := json.Marshal(map[string]any{"model": "gpt-4o", "messages": messages})
		if err != nil {
			return nil, err
		}
		return wire.Parse(wire.Chat, body)
	}
	seen, err := request(300 << 10)
	if err != nil {
		return err
	}
	longer, err := request(303 << 10)
	if err != nil {
		return err
	}
	seed := maphash.MakeSeed()
	hashing := least(func() { maphash.Bytes(seed, longer.Body) }, nil)
	for _, f := range []tokens.Family{tokens.FamilyO200K, tokens.FamilyClaude} {
		var c *tokens.Counter
		add := func(metric string, took time.Duration) {
			o.Add(Row{
				Case: "300 KB request, " + f.String(), Metric: metric, Value: float64(took.Nanoseconds()) / 1e6, Unit: "ms",
				Baseline: "maphash", BaselineValue: float64(hashing.Nanoseconds()) / 1e6,
			})
		}
		fresh := func() { c = tokens.NewCounter(tokens.Options{}) }
		add("never seen", least(func() { c.Tally(longer, f) }, fresh))
		add("seen, one new turn", least(func() { c.Tally(longer, f) }, func() { fresh(); c.Tally(seen, f) }))
		add("seen", least(func() { c.Tally(longer, f) }, nil))
	}
	return nil
}

// least returns the shortest of many runs, each after prepare.
func least(run, prepare func()) time.Duration {
	shortest := time.Hour
	for range 60 {
		if prepare != nil {
			prepare()
		}
		start := time.Now()
		run()
		shortest = min(shortest, time.Since(start))
	}
	return shortest
}

// tokenSpeed returns megabytes (10^6) a second, the best round, and allocations per megabyte.
func tokenSpeed(text []byte, count func([]byte)) (speed, allocations float64) {
	count(text)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	done := 0
	for range tokenRounds {
		start, n := time.Now(), 0
		for n == 0 || time.Since(start) < tokenRoundTime {
			count(text)
			n++
		}
		done += n
		speed = max(speed, float64(n*len(text))/1e6/time.Since(start).Seconds())
	}
	runtime.ReadMemStats(&after)
	return speed, float64(after.Mallocs-before.Mallocs) / (float64(done*len(text)) / 1e6)
}

func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// letterBetween picks letters of a range.
func letterBetween(rng *rand.Rand, from, to rune) func() rune {
	return func() rune {
		for {
			if r := from + rune(rng.IntN(int(to-from))); unicode.IsLetter(r) {
				return r
			}
		}
	}
}

func tokenCases(ctx context.Context) ([]tokenCase, error) {
	rng := rand.New(rand.NewPCG(1, 2))
	var cases []tokenCase
	add := func(name string, text []byte) {
		cases = append(cases, tokenCase{name: name, text: bytes.ToValidUTF8(text[:min(len(text), tokenText)], nil)})
	}
	code, prose, err := tokenSources(ctx)
	if err != nil {
		return nil, err
	}
	add("english", prose)
	add("go", code)
	var b bytes.Buffer
	for b.Len() < tokenText {
		line, err := json.MarshalIndent(map[string]any{
			"id": rng.IntN(1e9), "name": fmt.Sprintf("pod-%x", rng.Uint32()), "ready": rng.IntN(2) == 0, "ratio": rng.Float64(),
			"labels": map[string]any{"app.kubernetes.io/name": "guestbook", "tier": []string{"frontend", "web"}}, "phase": "Running",
			"message": fmt.Sprintf("back-off %ds restarting failed container=web-%d", rng.IntN(300), rng.IntN(99)), "at": "2026-11-20T18:15:23Z",
		}, "", "  ")
		if err != nil {
			return nil, err
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	add("json", b.Bytes())
	random := make([]byte, tokenText)
	for i := range random {
		random[i] = byte(rng.IntN(256))
	}
	add("base64", []byte(base64.StdEncoding.EncodeToString(random)))
	add("hexdump", []byte(hex.Dump(random[:tokenText/4])))
	for _, script := range []struct{ name, words string }{
		{"chinese", "上下文 窗口 的 令牌 计数 必须 精确 我们 在 这里 可以 看到 一个 新的 方法 用来 处理 大量 数据 ， 。 因为 系统 需要 知道 多少 时间 和 内存 问题 中国 人民 世界 经济 发展 技术"},
		{"japanese", "これは トークン を 数える ため の 文章 です 。 東京 で 世界 、 私たち は 新しい 方法 が 必要 ある という こと 日本語 データ 処理"},
		{"russian", "съешь\u00a0 ещё\u00a0 этих\u00a0 мягких\u00a0 французских\u00a0 булок\u00a0 да\u00a0 выпей\u00a0 чаю\u00a0 система\u00a0 должна\u00a0 считать\u00a0 быстро\u00a0 и\u00a0 точно\u00a0 контекст\u00a0"},
		{"arabic", "السلام\u00a0 عليكم\u00a0 ورحمة\u00a0 الله\u00a0 يجب\u00a0 أن\u00a0 يكون\u00a0 العدد\u00a0 دقيقا\u00a0 النظام\u00a0 يحتاج\u00a0 إلى\u00a0 معرفة\u00a0 الوقت\u00a0"},
		{"hindi", "नमस्ते\u00a0 दुनिया\u00a0 यह\u00a0 एक\u00a0 परीक्षण\u00a0 है\u00a0 हमें\u00a0 सही\u00a0 गिनती\u00a0 चाहिए\u00a0 क्षेत्र\u00a0 ज्ञान\u00a0"},
		{"emoji", "👩‍👩‍👧‍👦 🇩🇪🇯🇵 👍🏽 ❤️ 🏳️‍🌈 1️⃣ ok\u00a0 ✓ → 😀 🎉\u00a0 🚀"},
	} {
		words := strings.Fields(strings.ReplaceAll(script.words, "\u00a0", "_"))
		b.Reset()
		for b.Len() < tokenText {
			b.WriteString(strings.ReplaceAll(words[rng.IntN(len(words))], "_", " "))
		}
		add(script.name, bytes.Clone(b.Bytes()))
	}
	runes := make([]rune, tokenText/4)
	for i := range runes {
		runes[i] = rune(0x80 + rng.IntN(0xd780))
	}
	add("random characters", []byte(string(runes)))
	// Letters of every script without anything between them are one long piece, which is merged as a whole; characters of all
	// planes are mostly none that a vocabulary has.
	for _, of := range []struct {
		name string
		pick func() rune
	}{
		{"random letters of two bytes", letterBetween(rng, 0x80, 0x800)},
		{"random letters", letterBetween(rng, 0x80, 0xd7ff)},
		{"random characters of all planes", func() rune { return rune(0x80 + rng.IntN(unicode.MaxRune-0x80)) }},
		{"random words of two-byte letters", func() rune {
			if rng.IntN(6) == 0 {
				return ' '
			}
			return letterBetween(rng, 0x80, 0x800)()
		}},
	} {
		b.Reset()
		for b.Len() < tokenText/4 {
			b.WriteRune(of.pick())
		}
		add(of.name, bytes.Clone(b.Bytes()))
	}
	for _, h := range []struct{ name, unit string }{
		{"one letter", "a"},
		{"spaces", " "},
		{"newlines", "\n"},
		{"digits", "7"},
		{"dashes", "-"},
		{"marks", "\u0301"},
		{"one ideograph", "中"},
		{"rare ideographs", "龘靐齉"},
	} {
		cases = append(cases, tokenCase{name: h.name, text: []byte(strings.Repeat(h.unit, tokenText/len(h.unit))), hostile: true})
	}
	return cases, nil
}

// tokenSources returns Go source, and the English of its comments joined to paragraphs.
func tokenSources(ctx context.Context) (code, prose []byte, err error) {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, nil, fmt.Errorf("the texts are Go's own sources: go env GOROOT: %w", err)
	}
	dir := filepath.Join(strings.TrimSpace(string(root)), "src")
	for _, folder := range []string{"net/http", "go/types", "crypto/tls", "runtime", "os", "reflect", "encoding/json", "time"} {
		names, err := filepath.Glob(filepath.Join(dir, folder, "*.go"))
		if err != nil {
			return nil, nil, err
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				return nil, nil, err
			}
			if len(code) < tokenText {
				code = append(code, text[:min(len(text), 64<<10)]...)
			}
			for line := range bytes.Lines(text) {
				if comment, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("// ")); ok {
					prose = append(append(prose, comment...), ' ')
				} else if n := len(prose); n > 0 && prose[n-1] == ' ' {
					prose[n-1] = '\n'
				}
			}
		}
	}
	if len(code) == 0 {
		return nil, nil, errors.New("there are no Go sources under GOROOT to count")
	}
	return code, prose, nil
}
