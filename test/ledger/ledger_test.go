// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/hack/fakellm/fakellm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tools"
	"github.com/aalis-dev/aalis-operator/runtime/host/metrics"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/test/harness"
	"github.com/aalis-dev/aalis-operator/test/wholebot"
)

// asked are messages of every kind: answers with and without reasoning and tools, and each thing that can go wrong with one and
// ends by itself.
var asked = []string{
	"hello", "#reasoning let me think\n#say one two three", `#tool echo {"text":"once"}`, `#tool echo {"text":"a"} #tool echo {"text":"b"}`,
	"#usage prompt=1000 cached=900 completion=77", "#repeat 40",
	"#fault no-usage", "#fault truncate chunks=1", "#fault reset chunks=1", "#fault error-frame chunks=1", "#fault malformed chunks=1",
	"#fault no-done", "#fault empty", "#fault unavailable count=1 retry-after=0", "#fault content-filter", "#fault status status=418", "#fault chunk-delay delay=1ms",
}

// unread are the faults in which the bot never sees the frame that the server bills: it is not sent, or what comes before it ends
// the answer.
var unread = []string{"no-usage", "truncate", "reset", "error-frame"}

// account sums tokens.
type account struct{ prompt, cached, completion, reasoning int }

func (a account) String() string {
	return fmt.Sprintf("prompt %d, cached %d, completion %d, reasoning %d", a.prompt, a.cached, a.completion, a.reasoning)
}

func (a *account) add(b account) {
	a.prompt += b.prompt
	a.cached += b.cached
	a.completion += b.completion
	a.reasoning += b.reasoning
}

// book is what one life of a bot says of itself, as Prometheus would read it.
type book struct{ told, counted account }

func read(t *testing.T, m *metrics.Metrics) book {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	sum := func(kind, estimated string) int {
		if !strings.Contains(w.Body.String(), "aalis_tokens_total{") {
			return 0
		}
		n, err := harness.Sum(w.Body.String(), "aalis_tokens_total", map[string]string{"type": kind, "estimated": estimated})
		if err != nil {
			t.Fatal(err)
		}
		return int(n)
	}
	of := func(estimated string) account {
		return account{sum("prompt", estimated), sum("cached_prompt", estimated), sum("completion", estimated), sum("reasoning", estimated)}
	}
	return book{told: of("false"), counted: of("true")}
}

// start runs a life of a bot.
func start(t *testing.T, url string) (*wholebot.Bot, *metrics.Metrics) {
	t.Helper()
	m := metrics.New(metrics.Options{Agent: "ledger"})
	b := wholebot.Start(t, url, []string{"ann"}, kernel.Module{
		Name: "@test/plugin-echo", Inject: kernel.Inject{Optional: []string{tools.Service.Name()}},
		Apply: func(k *kernel.Context, _ map[string]any) error {
			tools.Use(k, []tools.Tool{{
				Definition: message.ToolDefinition{Type: "function", Function: message.ToolFunction{Name: "echo", Parameters: map[string]any{"type": "object"}}},
				Handler: func(_ context.Context, args map[string]any, _ tools.CallContext) (string, error) {
					return fmt.Sprint(args["text"]), nil
				},
			}})
			return nil
		},
	})
	m.Attach(b.Root())
	return b, m
}

// say asks and reads what comes, whatever that is.
func say(ctx context.Context, b *wholebot.Bot, session, text string) {
	stream, err := b.Client("ann", session).CreateChatCompletionStream(ctx, wholebot.Request(text))
	if err != nil {
		return
	}
	defer func() { _ = stream.Close() }()
	for {
		if _, err := stream.Recv(); err != nil {
			if !errors.Is(err, io.EOF) {
				return // the bot says what went wrong; this test counts
			}
			return
		}
	}
}

// billed sums what the server billed for answers whose frame a bot has read, and for the others.
func billed(model *fakellm.Server) (told, cut account, calls int) {
	for _, e := range model.Requests() {
		if e.API != "chat" || e.Outcome == fakellm.OutcomeError {
			continue
		}
		calls++
		u := account{e.Billed.PromptTokens, e.Billed.CachedTokens, e.Billed.CompletionTokens, e.Billed.ReasoningTokens}
		if slices.ContainsFunc(unread, func(kind string) bool {
			return slices.ContainsFunc(e.Faults, func(f string) bool { return strings.Contains(f, kind) })
		}) ||
			e.Outcome != fakellm.OutcomeComplete {
			cut.add(u)
			continue
		}
		told.add(u)
	}
	return told, cut, calls
}

// TestLedger: over several lives of a bot, calls whose usage frame arrived are counted exactly as they were billed, once, and the
// others by the bot itself and marked so.
func TestLedger(t *testing.T) {
	lives, turns := 4, 60
	if os.Getenv("AALIS_FULL") == "1" {
		turns = 250
	}
	model := fakellm.New(fakellm.Options{LedgerEntries: 50_000, LedgerBytes: 1 << 30})
	server := httptest.NewServer(model)
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var all book
	for life := range lives {
		t.Run(fmt.Sprint("life ", life), func(t *testing.T) {
			b, m := start(t, server.URL)
			var people sync.WaitGroup
			for s := range 6 {
				people.Go(func() {
					random := rand.New(rand.NewPCG(uint64(life), uint64(s))) //nolint:gosec // not for secrets
					for i := range turns / 6 {
						say(ctx, b, fmt.Sprint("session", s), fmt.Sprintf("%d %s", i, asked[random.IntN(len(asked))]))
					}
				})
			}
			people.Wait()
			b.Stop()
			of := read(t, m)
			all.told.add(of.told)
			all.counted.add(of.counted)
		})
	}
	told, cut, calls := billed(model)
	t.Logf("%d turns in %d lives, %d calls; told: %s", lives*turns, lives, calls, told)
	t.Logf("cut: billed %s; counted %s", cut, all.counted)
	if all.told != told {
		t.Errorf("the metrics say %s, billed was %s", all.told, told)
	}
	if calls < lives*turns/2 || told.reasoning == 0 || cut.prompt == 0 || all.counted.prompt == 0 {
		t.Errorf("%d calls, cut %s, counted %s: too few to show anything", calls, cut, all.counted)
	}
	// Our count of text that nobody counts for us is an estimate; this bounds how wrong it is for what the server counts.
	if low, high := cut.prompt/3, cut.prompt*3; all.counted.prompt < low || all.counted.prompt > high {
		t.Errorf("counted %d tokens of prompts that were billed as %d", all.counted.prompt, cut.prompt)
	}
}

// TestCutByPeople: calls that people end are counted too, as far as they came, and none twice.
func TestCutByPeople(t *testing.T) {
	model := fakellm.New(fakellm.Options{})
	server := httptest.NewServer(model)
	defer server.Close()
	b, m := start(t, server.URL)
	const n = 20
	for i := range n {
		ctx, cancel := context.WithCancel(t.Context())
		stream, err := b.Client("ann", fmt.Sprint("cut", i)).CreateChatCompletionStream(ctx, wholebot.Request("#fault chunk-delay delay=5ms #repeat 400"))
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := stream.Recv(); err != nil {
				t.Fatal(err)
			}
		}
		cancel()
		_ = stream.Close()
	}
	b.Stop()
	of := read(t, m)
	_, cut, calls := billed(model)
	t.Logf("%d calls cut by people; billed %s; told %s; counted %s", calls, cut, of.told, of.counted)
	if calls != n || of.told != (account{}) || of.counted.prompt == 0 || of.counted.completion == 0 || of.counted.completion > n*400*4 {
		t.Errorf("%d calls; told %s, counted %s", calls, of.told, of.counted)
	}
}
