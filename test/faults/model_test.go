// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aalis-dev/aalis-operator/hack/fakellm/fakellm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	// trouble is in the messages that faults hit.
	trouble = "trouble"
	asked   = trouble + "\n#say one two three four"
	said    = "one two three four"
	after   = "and now?\n#say all is well"
	allWell = "all is well"
	// soon is the timeout of calls that are made to hang. It bounds nothing but them, so it can be short.
	soon = 0.3
	// deadline bounds each turn: far above what any may take, and far below for ever.
	deadline = 20 * time.Second
)

// tale is one thing that goes wrong and what comes of it.
type tale struct {
	faults  []fakellm.Fault
	text    string // what is asked; asked if empty
	timeout float64
	agent   map[string]any
	calls   int // of the model, until the turn has ended; 0 for one

	answer string            // the reply, streamed and saved; empty for none
	shown  string            // what is streamed of a reply that fails, before the notice
	notice map[string]string // what the person is told, by language
	groups int               // of tool calls that are saved
}

func notice(english, chinese string) map[string]string {
	return map[string]string{string(i18n.English): english, string(i18n.Chinese): chinese}
}

func of(m i18n.Message) map[string]string {
	return notice(m.In(i18n.English), m.In(i18n.Chinese))
}

var (
	timedOut    = notice("gave no complete answer within 300ms", "未能在 300ms 内完成回答")
	busy        = notice("is busy (429)", "繁忙 (429)")
	failed      = notice("The model provider failed", "模型服务商出错")
	brokeOff    = notice("answer broke off", "回答中断了")
	refused     = notice("refused the request (418)", "拒绝了请求 (418)")
	badKey      = notice("refused the API key (401)", "拒绝了 API 密钥 (401)")
	noSuchModel = notice("does not know the model gpt-4o (404)", "没有模型 gpt-4o (404)")
	tooLong     = notice("too long for the model (413)", "超出了模型的上下文 (413)")
	filtered    = notice("content filter refused", "安全审核拦截")
	unreachable = notice("cannot be reached", "无法连接模型服务商")
	nonsense    = notice("makes no sense", "无法识别")
)

const (
	one   = "one "
	ms    = fakellm.Duration(time.Millisecond)
	hour  = fakellm.Duration(time.Hour)
	tool  = "prompt_budget_info"
	loops = 3
)

func first(f fakellm.Fault) []fakellm.Fault  { f.Count = 1; return []fakellm.Fault{f} }
func always(f fakellm.Fault) []fakellm.Fault { return []fakellm.Fault{f} }

// tales has at least one for each kind of fault; TestEveryKind sees to that.
func tales() map[string]tale {
	return map[string]tale{
		"pieces come slowly":     {faults: always(fakellm.Fault{Kind: "chunk-delay", Delay: 5 * ms}), answer: said},
		"pieces come too slowly": {faults: always(fakellm.Fault{Kind: "chunk-delay", Delay: hour}), timeout: soon, notice: timedOut},
		"a slow first byte":      {faults: always(fakellm.Fault{Kind: "header-delay", Delay: 100 * ms}), answer: said},
		"a first byte too slow":  {faults: always(fakellm.Fault{Kind: "header-delay", Delay: hour}), timeout: soon, notice: timedOut},
		"no first byte":          {faults: always(fakellm.Fault{Kind: "hang"}), timeout: soon, notice: timedOut},
		"a slow body":            {faults: always(fakellm.Fault{Kind: "slow-body", Delay: ms / 20}), answer: said},
		"a body too slow":        {faults: always(fakellm.Fault{Kind: "slow-body", Delay: hour}), timeout: soon, notice: timedOut},
		"silence before a piece": {faults: always(fakellm.Fault{Kind: "stall", Chunks: new(0)}), timeout: soon, notice: timedOut},
		"silence behind a piece": {faults: always(fakellm.Fault{Kind: "stall"}), timeout: soon, shown: one, notice: timedOut},
		"busy once":              {faults: first(fakellm.Fault{Kind: "rate-limit"}), calls: 2, answer: said},
		"busy once, no hint":     {faults: first(fakellm.Fault{Kind: "429", RetryAfter: new(0)}), calls: 2, answer: said},
		"busy for long":          {faults: always(fakellm.Fault{Kind: "429", RetryAfter: new(3600)}), notice: busy},
		"failing once":           {faults: first(fakellm.Fault{Kind: "server-error"}), calls: 2, answer: said},
		"failing":                {faults: always(fakellm.Fault{Kind: "server-error"}), calls: 3, notice: failed},
		"away once":              {faults: first(fakellm.Fault{Kind: "unavailable"}), calls: 2, answer: said},
		"refused":                {faults: always(fakellm.Fault{Kind: "status", Status: 418}), notice: refused},
		"key refused":            {faults: always(fakellm.Fault{Kind: "status", Status: 401}), notice: badKey},
		"model gone":             {faults: always(fakellm.Fault{Kind: "status", Status: 404}), notice: noSuchModel},
		"too long":               {faults: always(fakellm.Fault{Kind: "status", Status: 413}), notice: tooLong},
		"filtered":               {faults: always(fakellm.Fault{Kind: "content-filter"}), notice: filtered},
		"reset before a piece":   {faults: first(fakellm.Fault{Kind: "reset", Chunks: new(0)}), calls: 2, answer: said},
		"reset behind a piece":   {faults: always(fakellm.Fault{Kind: "reset"}), shown: one, notice: brokeOff},
		"cut before a piece":     {faults: first(fakellm.Fault{Kind: "truncate", Chunks: new(0)}), calls: 2, answer: said},
		"cut behind a piece":     {faults: always(fakellm.Fault{Kind: "truncate"}), answer: one},
		"error before a piece":   {faults: first(fakellm.Fault{Kind: "error-frame", Chunks: new(0)}), calls: 2, answer: said},
		"error behind a piece":   {faults: always(fakellm.Fault{Kind: "error-frame"}), shown: one, notice: failed},
		"a broken frame":         {faults: always(fakellm.Fault{Kind: "malformed"}), answer: said},
		"no closing mark":        {faults: always(fakellm.Fault{Kind: "no-done"}), answer: said},
		"no usage":               {faults: always(fakellm.Fault{Kind: "no-usage"}), answer: said},
		"an empty answer":        {faults: always(fakellm.Fault{Kind: "empty"}), notice: of(i18n.NoAnswer())},
		"only reasoning":         {text: trouble + "\n#reasoning hm hm\n#say ", notice: of(i18n.NoAnswer())},
		"several faults at once": {faults: slices.Concat(first(fakellm.Fault{Kind: "503"}), always(fakellm.Fault{Kind: "no-done"})), calls: 2, answer: said},
		"tools for ever":         {text: trouble + "\n#toolloop " + tool + " {}", agent: map[string]any{"maxToolIterations": loops}, calls: loops + 1, groups: loops, notice: of(i18n.ToolLimit(loops))},
		"reset behind tools":     {text: trouble + "\n#tool " + tool + " {}", faults: always(fakellm.Fault{Kind: "reset", Skip: 1}), calls: 2, groups: 1, shown: "[", notice: brokeOff},
		"reset within a call":    {text: trouble + "\n#tool " + tool + ` {"a":"a long argument of a tool"}`, faults: always(fakellm.Fault{Kind: "reset", Chunks: new(2)}), notice: brokeOff},
		"cut within a call":      {text: trouble + "\n#tool " + tool + ` {"a":"a long argument of a tool"}`, faults: always(fakellm.Fault{Kind: "truncate", Chunks: new(2)}), notice: brokeOff},
		"arguments are not JSON": {text: trouble + "\n#toolraw " + tool + ` {"a":`, calls: 2, groups: 1, answer: "*"},
		"arguments are a list":   {text: trouble + "\n#toolraw " + tool + ` [1]`, calls: 2, groups: 1, answer: "*"},
		"a tool that nobody has": {text: trouble + "\n#tool no_such_tool {}", calls: 2, groups: 1, answer: "*"},
		"many tools at once":     {text: trouble + strings.Repeat("\n#tool "+tool+" {}", 100), calls: 2, groups: 1, answer: "*"},
	}
}

// TestEveryKind keeps the table whole when the fake server learns something new.
func TestEveryKind(t *testing.T) {
	told := map[fakellm.Kind]bool{}
	for _, tale := range tales() {
		for _, f := range tale.faults {
			told[f.Kind] = true
		}
	}
	for _, k := range fakellm.Kinds() {
		alias := map[fakellm.Kind]fakellm.Kind{"rate-limit": "429", "server-error": "500", "unavailable": "503"}[k]
		if !told[k] && !told[alias] {
			t.Errorf("nothing is told of the fault %s", k)
		}
	}
}

func TestModelFaults(t *testing.T) {
	for where, home := range homes() {
		t.Run(where, func(t *testing.T) {
			kerneltest.NoLeaks(t) // when all have ended
			for name, tale := range tales() {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					tale.run(t, home)
				})
			}
		})
	}
}

func (c tale) run(t *testing.T, where home) {
	t.Helper()
	configs := map[string]map[string]any{agentPlugin: c.agent}
	if c.timeout > 0 {
		configs[provider] = map[string]any{"timeout": c.timeout}
	}
	b := start(t, recipe{home: where, configs: configs, beside: true})
	for _, f := range c.faults {
		f.Match = trouble
		if _, err := b.fake.AddFault(f); err != nil {
			t.Fatal(err)
		}
	}
	if c.text == "" {
		c.text = asked
	}
	c.check(b, b.ask(c.text), string(where.language))
	list := b.history()
	whole(t, list, c.text)
	c.checkHistory(t, list)
	b.goesOn(c.text)
}

// check compares what was heard with what should be.
func (c tale) check(b *bot, h heard, language string) {
	b.t.Helper()
	if h.status != http.StatusOK || !h.ended || h.took > deadline {
		b.t.Errorf("status %d, ended %v after %s", h.status, h.ended, h.took)
	}
	if got, want := b.calls(), max(c.calls, 1); got != want {
		b.t.Errorf("the model was asked %d times, want %d\n%s", got, want, b.Logs)
	}
	if c.notice == nil {
		if h.notice || c.answer != "*" && h.text != c.answer || strings.Contains(h.text, "[错误]") {
			b.t.Errorf("heard %q, notice %v, want %q", h.text, h.notice, c.answer)
		}
		return
	}
	told, ok := strings.CutPrefix(h.text, c.shown)
	// Reasoning may or may not have left before the notice, and with it the header.
	if !ok || h.reasoning == "" && h.notice != (c.shown == "") || !strings.Contains(told, c.notice[language]) {
		b.t.Errorf("heard %q, notice %v, want %q and a notice with %q", h.text, h.notice, c.shown, c.notice[language])
	}
	if len([]rune(told)) > 250 || strings.ContainsAny(told, "{}") {
		b.t.Errorf("the notice is not fit for people: %q", told)
	}
}

func (c tale) checkHistory(t *testing.T, list []message.Message) {
	t.Helper()
	groups := 0
	for _, m := range list {
		if len(m.ToolCalls) > 0 {
			groups++
		}
	}
	got := replies(list)
	want := 1
	if c.answer == "" {
		want = 0
	}
	if groups != c.groups || len(got) != want || want == 1 && c.answer != "*" && got[0] != c.answer {
		t.Errorf("%d groups of tool calls, want %d; replies %q, want %q", groups, c.groups, got, c.answer)
	}
}

// goesOn asks once more, as if nothing had been. The fake server refuses what no vendor would take.
func (b *bot) goesOn(before ...string) {
	b.t.Helper()
	if h := b.ask(after); h.status != http.StatusOK || !h.ended || h.notice || h.text != allWell {
		b.t.Errorf("the next turn: %+v\n%s", h, b.Logs)
	}
	list := b.history()
	whole(b.t, list, append(slices.Clone(before), after)...)
	if got := replies(list); len(got) == 0 || got[len(got)-1] != allWell {
		b.t.Errorf("the next turn is remembered as %q", got)
	}
}

// switchable serves by another handler until it is told otherwise.
type switchable struct {
	bad    func(w http.ResponseWriter, r *http.Request)
	good   atomic.Pointer[fakellm.Server]
	hits   atomic.Int64
	mended atomic.Bool
}

func (s *switchable) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.mended.Load() || !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		s.good.Load().ServeHTTP(w, r)
		return
	}
	s.hits.Add(1)
	_, _ = io.Copy(io.Discard, r.Body)
	s.bad(w, r)
}

// hijack takes the connection from the server and does with it what a broken one does.
func hijack(do func(conn *net.TCPConn)) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err) // the test server can do that
		}
		do(conn.(*net.TCPConn))
		_ = conn.Close()
	}
}

func write(contentType, body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	}
}

// TestBrokenServers is about servers that are not even a bad vendor.
func TestBrokenServers(t *testing.T) {
	kerneltest.NoLeaks(t) // when all have ended
	const frame = `data: {"choices":[{"index":0,"delta":{"content":"one "}}]}` + "\n\n"
	for name, tc := range map[string]struct {
		bad   func(w http.ResponseWriter, r *http.Request)
		tries int64
		shown string
		want  map[string]string
	}{
		"connection reset":  {hijack(func(c *net.TCPConn) { _ = c.SetLinger(0) }), 3, "", unreachable},
		"connection closed": {hijack(func(*net.TCPConn) {}), 3, "", unreachable},
		"no HTTP":           {hijack(func(c *net.TCPConn) { _, _ = c.Write([]byte("hello\r\n")) }), 3, "", unreachable},
		"half a chunk": {hijack(func(c *net.TCPConn) {
			_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n" + frame))
		}), 1, one, brokeOff},
		"a web page":          {write("text/html", "<html>\n<p>hi</p>\n"), 3, "", nonsense},
		"nothing but pings":   {write("text/event-stream", strings.Repeat(": ping\n\n", 1000)), 3, "", nonsense},
		"half a document":     {write("application/json", `{"choices":[{"mess`), 3, "", nonsense},
		"another document":    {write("application/json", `{"hello":"you"}`), 3, "", nonsense},
		"nothing but garbage": {write("text/event-stream", "data: {oops\n\ndata: \xff\xfe\n\n"), 3, "", nonsense},
		"redirected":          {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }, 1, "", notice("refused the request (302)", "拒绝了请求 (302)")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			where := homes()["SQLite, Chinese"]
			s := &switchable{bad: tc.bad}
			s.good.Store(fakellm.New(fakellm.Options{}))
			b := start(t, recipe{home: where, server: s, beside: true})
			h := b.ask(asked)
			told, ok := strings.CutPrefix(h.text, tc.shown)
			if !ok || !h.ended || h.took > deadline || !strings.Contains(told, tc.want[string(where.language)]) {
				t.Errorf("heard %+v, want a notice with %q\n%s", h, tc.want[string(where.language)], b.Logs)
			}
			if s.hits.Load() != tc.tries {
				t.Errorf("tried %d times, want %d", s.hits.Load(), tc.tries)
			}
			whole(t, b.history(), asked)
			s.mended.Store(true)
			b.goesOn(asked)
		})
	}
}

// markup is a call of a tool in the words of a model whose server failed to read it.
const markup = `<｜DSML｜tool_calls><｜DSML｜invoke name="` + tool + `"></｜DSML｜invoke></｜DSML｜tool_calls>`

// TestLeakedMarkup: the markup of a call is a call, and nobody sees it.
func TestLeakedMarkup(t *testing.T) {
	const deepseek = "@aalis/plugin-llm-deepseek:main"
	for where, home := range homes() {
		t.Run(where, func(t *testing.T) {
			good := fakellm.New(fakellm.Options{})
			server := httptest.NewServer(good)
			t.Cleanup(server.Close)
			b := start(t, recipe{home: home, omit: []string{provider}, configs: map[string]map[string]any{
				deepseek:    {"baseUrl": server.URL, "apiKey": "k", "customModels": model},
				agentPlugin: {"maxToolIterations": 1},
			}})
			text := trouble + "\n#say look: " + markup
			h := b.ask(text)
			if h.status != http.StatusOK || !h.ended || strings.Contains(h.text, "DSML") || !strings.Contains(h.text, "returned: ") {
				t.Errorf("heard %+v\n%s", h, b.Logs)
			}
			list := b.history()
			whole(t, list, text)
			for _, m := range list[1:] {
				if strings.Contains(m.Content, "DSML") {
					t.Errorf("the markup is remembered: %q", m.Content)
				}
			}
			b.goesOn(text)
		})
	}
}
