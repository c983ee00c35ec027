// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tokenizer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"

	"github.com/aalis-dev/aalis-operator/runtime/contract/tokens"
)

// oracles are the public implementation, with the same tables.
var oracles = map[encoding]*tiktoken.Tiktoken{}

func TestMain(m *testing.M) {
	tiktoken.SetBpeLoader(loader.NewOfflineLoader())
	for _, enc := range []encoding{o200k, cl100k} {
		t, err := tiktoken.GetEncoding(string(enc))
		if err != nil {
			panic(err)
		}
		oracles[enc] = t
	}
	os.Exit(m.Run())
}

func load(tb testing.TB, enc encoding) *table {
	tb.Helper()
	t, err := tables[enc]()
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

var samples = []string{
	"", " ", "  ", "\n", " \n ", "\t\tx", "a", "hello world", "Hello, World! It's 12345 o'clock, isn't it? I'LL we'Ve x's",
	"你好，世界。今天天气怎么样？我们一起去公园散步吧", "こんにちは世界カタカナ", "안녕하세요 세계", "Привет, мир", "مرحبا بالعالم", "สวัสดีชาวโลก",
	"func main() {\n\tfmt.Println(\"hi\")\n}\n\n\n  // done\r\n", "{\"a\":[1,2,3],\"b\":null}", "https://x.example/a/b?c=d#e///\n",
	"ABCdef ABCDef ABC'S aBC ǅabc ABC中文abc e\u0301E\u0301 \u0301ABC \u0301abc !\u0301x", "🦉🦉 🏳️‍🌈 👩‍👩‍👧", "a\u00a0b\u3000c \u2003 d",
	"½ ² ٣٤٥٦ 1234567 12", "   leading and trailing   ", "x  \n\n  y", "'", "'s", "'re", "'r", " 's", "''s",
	strings.Repeat("a", 300), strings.Repeat("字", 100), strings.Repeat("ab1! ", 50), strings.Repeat("=", 500),
}

func TestCountsAsThePublicImplementation(t *testing.T) {
	t.Parallel()
	for enc, oracle := range oracles {
		table := load(t, enc)
		for _, text := range samples {
			if got, want := table.count(text), len(oracle.EncodeOrdinary(text)); got != want {
				t.Errorf("%s: %q has %d tokens, want %d", enc, text, got, want)
			}
		}
	}
}

// TestRandomTexts puts samples and characters together at random.
func TestRandomTexts(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	runes := []rune("aAbB zZ'sSlL  \n\r\t/!.,:1239½字の한éÉßŉǅʰ\u0301\u00a0\u3000🦉𝒳𐐀٣")
	for n := range 3000 {
		var b strings.Builder
		for range rng.IntN(24) {
			b.WriteRune(runes[rng.IntN(len(runes))])
		}
		if n%10 == 0 {
			b.WriteString(samples[rng.IntN(len(samples))])
		}
		for enc, oracle := range oracles {
			if got, want := load(t, enc).count(b.String()), len(oracle.EncodeOrdinary(b.String())); got != want {
				t.Fatalf("%s: %q has %d tokens, want %d", enc, b.String(), got, want)
			}
		}
	}
}

func FuzzCount(f *testing.F) {
	for _, s := range samples {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for enc, oracle := range oracles {
			got := load(t, enc).count(text)
			if got < 0 || got > len(text) {
				t.Errorf("%d tokens for %d bytes", got, len(text))
			}
			if !utf8.ValidString(text) || len(text) > 4096 {
				continue
			}
			if want := len(oracle.EncodeOrdinary(text)); got != want {
				t.Errorf("%s: %q has %d tokens, want %d", enc, text, got, want)
			}
		}
	})
}

func TestEncodingOf(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]encoding{
		"gpt-4o": o200k, "gpt-4o-mini-2024-07-18": o200k, "openai/GPT-5": o200k, "gpt-5.1": o200k, "o1": o200k, "o3-mini": o200k,
		"gpt-oss:20b": o200k, "gpt-4": cl100k, "gpt-4-turbo": cl100k, "gpt-3.5-turbo-0125": cl100k, "text-embedding-3-small": cl100k,
		"gpt-4x": "", "o10": "", "deepseek-chat": "", "qwen3": "", "": "", "fake-1": "",
	} {
		if got, ok := encodingOf(model); got != want || ok != (want != "") {
			t.Errorf("%s: got %q, %v", model, got, ok)
		}
	}
}

func TestCounterEstimatesUntilItsTableIsThere(t *testing.T) {
	t.Parallel()
	var jobs []func(context.Context)
	pool := NewPool(func(_ string, fn func(context.Context)) { jobs = append(jobs, fn) }, func(err error) { t.Error(err) })
	c, ok := pool.Counter("gpt-4o")
	again, _ := pool.Counter("gpt-5-mini")
	if !ok || c != again {
		t.Fatal("models of one encoding should share a counter")
	}
	if len(jobs) != 0 {
		t.Fatal("a table is read before anything is counted")
	}
	const text = "antidisestablishmentarianism 你好"
	for range 3 {
		if got, want := c.Count(text), tokens.Estimate.Count(text); got != want || c.Exact() {
			t.Errorf("got %d, exact %v; want the estimate %d", got, c.Exact(), want)
		}
	}
	if len(jobs) != 1 {
		t.Fatalf("%d jobs, want 1", len(jobs))
	}
	jobs[0](t.Context())
	if got, want := c.Count(text), len(oracles[o200k].EncodeOrdinary(text)); got != want || !c.Exact() {
		t.Errorf("got %d, exact %v; want %d", got, c.Exact(), want)
	}
	if _, ok := pool.Counter("qwen3"); ok {
		t.Error("an unknown model has a counter")
	}
}

func TestBadTables(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{"YQ== 1\n": "ranks", "YQ==\n": "ranks", "YQ== 0\n? 1\n": "token 1"} {
		if err := new(table).fill([]byte(raw)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v", raw, err)
		}
	}
	if _, err := readTable("no_such", nil); err == nil {
		t.Error("a table that is not there is read")
	}
}

// TestLongPiecesTakeNoQuadraticTime would take minutes otherwise.
func TestLongPiecesTakeNoQuadraticTime(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"a", "字", "=", "\u0301"} {
		text := strings.Repeat(unit, (1<<20)/len(unit))
		if n := load(t, o200k).count(text); n <= 0 || n > len(text) {
			t.Errorf("%q: %d tokens", unit, n)
		}
	}
}

func TestTablesAreSmall(t *testing.T) {
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for enc, split := range map[encoding]splitter{o200k: splitO200k, cl100k: splitCL100k} {
		before := heap()
		table, err := readTable(enc, split)
		if err != nil {
			t.Fatal(err)
		}
		took := float64(heap()-before) / (1 << 20)
		t.Logf("%s takes %.1f MiB", enc, took)
		if took > 8 {
			t.Errorf("%s takes %.1f MiB, want at most 8", enc, took)
		}
		runtime.KeepAlive(table)
	}
}

func BenchmarkCount(b *testing.B) {
	texts := map[string]string{
		"english": strings.Repeat("The quick brown fox jumps over the lazy dog, and then it does so again because nobody stopped it. ", 200),
		"chinese": strings.Repeat("今天天气很好，我们一起去公园散步，然后在湖边的小店里喝了一杯热茶。", 200),
		"json":    strings.Repeat(`{"name":"weather","arguments":{"city":"Berlin","days":3,"units":"metric"}},`, 200),
	}
	for name, text := range texts {
		for _, enc := range []encoding{o200k, cl100k} {
			b.Run(fmt.Sprint(name, "/", enc), func(b *testing.B) {
				table := load(b, enc)
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					table.count(text)
				}
			})
		}
		b.Run(name+"/estimate", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				tokens.Estimate.Count(text)
			}
		})
	}
}
