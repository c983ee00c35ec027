// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/commands"
	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

// exit is a gateway that keeps what goes out.
type exit struct {
	mu  sync.Mutex
	out []message.Outgoing
}

func (*exit) IngressMessage(context.Context, message.Incoming) {}

func (e *exit) DispatchOutbound(_ context.Context, m message.Outgoing) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.out = append(e.out, m)
}

func (e *exit) take() []message.Outgoing {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := e.out
	e.out = nil
	return out
}

type bot struct {
	*kerneltest.Harness
	t    testing.TB
	exit *exit
	r    commands.Registry
}

func start(t testing.TB, opts ...kerneltest.Option) *bot {
	t.Helper()
	b := &bot{t: t, exit: &exit{}}
	opts = append(opts, kerneltest.WithService[gateway.Gateway](gateway.Service, b.exit), kerneltest.WithPlugin(Plugin, "", nil))
	b.Harness = kerneltest.New(t, opts...)
	b.r = b.registry()
	return b
}

func (b *bot) registry() commands.Registry {
	b.t.Helper()
	r, ok := commands.Service.Get(b.Root())
	if !ok {
		b.t.Fatalf("there is no registry:\n%s", b.Logs)
	}
	return r
}

func inChinese() kerneltest.Option { return kerneltest.WithSetting(i18n.Setting.Key(), i18n.Chinese) }

func (b *bot) fork(id string) *kernel.Context {
	b.t.Helper()
	k, err := b.Root().Fork(id)
	if err != nil {
		b.t.Fatal(err)
	}
	return k
}

func (b *bot) dispose(k *kernel.Context) {
	b.t.Helper()
	if err := k.Dispose(context.Background()); err != nil {
		b.t.Fatal(err)
	}
}

// add registers a command; the test fails if it is malformed.
func (b *bot) add(k *kernel.Context, c commands.Command) (off func()) {
	b.t.Helper()
	off, err := b.r.Register(k, c)
	if err != nil {
		b.t.Fatal(err)
	}
	return off
}

// run gives a command and returns what it says; it must be one.
func (b *bot) run(text string) string { return b.runAs(text, commands.Call{}) }

func (b *bot) runAs(text string, call commands.Call) string {
	b.t.Helper()
	p, ok := b.r.Parse(text)
	if !ok {
		b.t.Fatalf("%q is no command", text)
	}
	return b.r.Execute(context.Background(), p, call)
}

func (b *bot) allowAll() (off func()) {
	return b.r.SetGuard(func(context.Context, access.Request) string { return "" })
}

func (b *bot) info(name string) commands.Info {
	b.t.Helper()
	for _, i := range b.r.List() {
		if i.Name == name {
			return i
		}
	}
	b.t.Fatalf("there is no %s", name)
	return commands.Info{}
}

// says is a command that answers with a text.
func says(declaration, text string) commands.Command {
	return commands.Command{Declaration: declaration, Description: text, Handler: func(context.Context, commands.Call) (string, error) {
		return text, nil
	}}
}

// shows is a command that answers with its arguments.
func shows(declaration string, options ...commands.Option) commands.Command {
	return commands.Command{Declaration: declaration, Options: options, Handler: func(_ context.Context, c commands.Call) (string, error) {
		raw, err := json.Marshal([]any{c.Args, c.Options})
		return string(raw), err
	}}
}

func TestConformance(t *testing.T) {
	kerneltest.Run(t, Plugin, kerneltest.WithService[gateway.Gateway](gateway.Service, &exit{}))
}

func TestTokenize(t *testing.T) {
	for in, want := range map[string][]string{
		"":                  nil,
		"  a  b\tc\n":       {"a", "b", "c"},
		`a "b c" 'd e'`:     {"a", "b c", "d e"},
		`a"b c"d`:           {"ab cd"},
		`a\ b \"c\" "d\"e"`: {"a b", `"c"`, `d"e`},
		`"" '' a`:           {"a"},
		`a "b c`:            {"a", "b c"},
		`a\`:                {"a"},
		`it's "so" 你　好`:     {`its "so" 你　好`},
		"'a\\'b'":           {"a'b"},
	} {
		if diff := cmp.Diff(want, tokenize(in)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", in, diff)
		}
	}
}

// TestArguments is the first half of case 8.6.1.
func TestArguments(t *testing.T) {
	b := start(t)
	list := commands.Option{Syntax: "-t, --type <v:string[]>"}
	for _, c := range []commands.Command{
		shows("plain <a> [n:number] [yes:boolean]"),
		shows("say <what:text>"),
		shows("opts [rest]", list, commands.Option{Syntax: "-p --page [n:number]"}, commands.Option{Syntax: "-f, --force"},
			commands.Option{Syntax: "--name <v>", Choices: []string{"x", "y"}}, commands.Option{Syntax: "-b <v:boolean>"}),
		shows("needs", commands.Option{Syntax: "-k, --key <v>", Required: true}, commands.Option{Syntax: "-d <v>", Default: "std"}),
		shows("digit [x]", commands.Option{Syntax: "-n <v:number>"}),
	} {
		b.add(b.Root(), c)
	}
	for line, want := range map[string]string{
		"/plain a":                             `[{"a":"a"},{}]`,
		"/plain a 5 on extra":                  `[{"a":"a","n":5,"yes":true},{}]`,
		"/plain -5 -1.5e2 no":                  `[{"a":"-5","n":-150,"yes":false},{}]`,
		"/plain -":                             `[{"a":"-"},{}]`,
		"/plain":                               "The argument <a> is missing.\nUsage: /plain <a> [n:number] [yes:boolean]",
		"/plain a b":                           `The argument n must be a number, got "b".`,
		"/plain a NaN":                         "must be a number",
		"/plain a 0x10":                        "must be a number",
		"/plain a 1e999":                       "must be a number",
		"/plain a 1 maybe":                     `The argument yes must be one of true, yes, on, 1, false, no, off, 0, got "maybe".`,
		"/plain -x":                            "Unknown option -x.\nUsage: /plain",
		"/plain -- -x":                         `[{"a":"-x"},{}]`,
		`/say hello  "big  world" -1`:          `[{"what":"hello big  world -1"},{}]`,
		"/say -- --no --yes":                   `[{"what":"--no --yes"},{}]`,
		"/opts -t a -t b,c":                    `[{},{"type":["a","b","c"]}]`,
		"/opts --type=a,, --type b":            `[{},{"type":["a","b"]}]`,
		"/opts -t":                             "The option -t needs a value.",
		"/opts --type":                         "The option --type needs a value.",
		"/opts --page=5":                       `[{},{"page":5}]`,
		"/opts --page 5":                       `[{"rest":"5"},{"page":true}]`,
		"/opts -p 5":                           `[{},{"page":5}]`,
		"/opts -p -5":                          `[{},{"page":-5}]`,
		"/opts -p":                             `[{},{"page":true}]`,
		"/opts -p -f":                          `The option -p must be a number, got "-f".`,
		"/opts --page=x":                       `The option --page must be a number, got "x".`,
		"/opts --force a":                      `[{"rest":"a"},{"force":true}]`,
		"/opts -f a":                           `[{"rest":"a"},{"force":true}]`,
		"/opts --no-force":                     `[{},{"force":false}]`,
		"/opts --force=YES":                    `[{},{"force":true}]`,
		"/opts --force=0":                      `[{},{"force":false}]`,
		"/opts --force=x":                      "The option --force must be one of true",
		"/opts -b on":                          `[{},{"b":true}]`,
		"/opts --no-page":                      "Unknown option --no-page.",
		"/opts --no-force=1":                   "Unknown option --no-force.",
		"/opts --nmae x":                       "Unknown option --nmae.",
		"/opts --names=x":                      "Unknown option --names. Did you mean: --name?",
		"/opts -ft":                            "Unknown option -ft.",
		"/opts -p=1":                           "Unknown option -p=1.",
		"/opts --name y":                       `[{},{"name":"y"}]`,
		"/opts --name=z":                       `The option --name must be one of x, y, got "z".`,
		"/needs":                               "The option --key is required.\nUsage: /needs [options]",
		"/needs -k=1":                          "Unknown option",
		"/needs --key=":                        `[{},{"d":"std","key":""}]`,
		"/needs -k -1 -d other":                `[{},{"d":"other","key":"-1"}]`,
		"/digit -n -5 -3":                      `[{"x":"-3"},{"n":-5}]`,
		"/digit -n five":                       `The option -n must be a number, got "five".`,
		`/plain "--quoted"`:                    "Unknown option --quoted.",
		"/plain " + strings.Repeat("-q", 5000): "Unknown option -q",
	} {
		if got := b.run(line); !strings.HasPrefix(got, want) && !strings.Contains(got, want) {
			t.Errorf("%.60s:\n got %.200s\nwant %s", line, got, want)
		} else if len(got) > 1000 {
			t.Errorf("%.60s: an answer of %d bytes", line, len(got))
		}
	}
}

// TestPaths is the second half of case 8.6.1.
func TestPaths(t *testing.T) {
	b := start(t)
	for _, c := range []commands.Command{says("profile [x]", "top"), says("profile.clear.nuke", "nuke"), says("a.b [x]", "a.b")} {
		b.add(b.Root(), c)
	}
	for line, want := range map[string]string{
		"/profile":                 "profile []",
		"/profile other":           "profile [other]",
		"/profile clear":           "profile.clear []",
		" /profile clear nuke x  ": "profile.clear.nuke [x]",
		"/profile clear.nuke":      "profile.clear.nuke []",
		"/profile.clear nuke":      "profile.clear.nuke []",
		"/a b clear":               "a.b [clear]",
		`/"a" b`:                   "a.b []",
	} {
		p, ok := b.r.Parse(line)
		if got := fmt.Sprint(p.Name, " ", p.Tokens); !ok || got != want || p.Raw != line {
			t.Errorf("%q: got %q, %t", line, got, ok)
		}
	}
	for _, line := range []string{"", "/", "profile", "/foo", "//profile", "/profil", "/.", "/profile.", "！/profile", "/a..b", `/""`, `/\`, "/\xff"} {
		if p, ok := b.r.Parse(line); ok {
			t.Errorf("%q is the command %q", line, p.Name)
		}
	}
	if got := b.info("profile.clear"); !got.Group || got.Owner != "" {
		t.Errorf("a group that nobody declared: %+v", got)
	}
	if got := b.run("/profile clear"); !strings.Contains(got, "/profile.clear.nuke") {
		t.Errorf("a group shows its members: %q", got)
	}
	if got := b.r.Execute(context.Background(), commands.Parsed{Name: "profil"}, commands.Call{}); got != `There is no command "/profil". Did you mean: /profile, /profile.clear, /profile.clear.nuke?` {
		t.Errorf("got %q", got)
	}
	if got := b.r.Execute(context.Background(), commands.Parsed{Name: "zzz"}, commands.Call{}); got != `There is no command "/zzz". /help lists all commands.` {
		t.Errorf("got %q", got)
	}
	if got := b.r.Names(); !slices.Equal(got, []string{"a", "clear", "help", "profile", "restart", "shutdown", "status"}) {
		t.Errorf("got %v", got)
	}
}

func TestMalformedDeclarations(t *testing.T) {
	b := start(t)
	handler := says("x", "").Handler
	for declaration, want := range map[string]string{
		"":                 "each part must be",
		"Bad":              `each part must be lower-case letters, digits and -, beginning with a letter, got "Bad"`,
		"a.B":              `got "B"`,
		"1leading":         "each part must be",
		"a..b":             `got ""`,
		"a <x":             "is not closed by >",
		"a x":              "must be <name:type> or [name:type]",
		"a <>":             "must not be empty",
		"a <x:int>":        "type must be string, number, boolean, text or string[]",
		"a <x:>":           "type must be",
		"a <x:string[]>":   "type must be string, number, boolean or text",
		"a [x:string[]]":   "type must be string, number, boolean or text",
		"a [x:text] [y]":   "nothing may follow [x:text]",
		"a [x] <y>":        "a required argument may not follow the optional [x]",
		"a <x> [x:number]": "the name is used twice",
		"a [x[]":           "may",
	} {
		_, err := b.r.Register(b.Root(), commands.Command{Declaration: declaration, Handler: handler})
		if err == nil || (want != "may" && !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", declaration, err, want)
		}
	}
	for _, syntax := range []string{"", "t", "-", "--", "-tt", "--a b", "-t <v", "-t <v> x", "-t <v:text>", "-t <:x>", "<v>", "-t, --t!"} {
		_, err := b.r.Register(b.Root(), commands.Command{Declaration: "a", Handler: handler, Options: []commands.Option{{Syntax: syntax}}})
		if err == nil || !strings.Contains(err.Error(), "option") {
			t.Errorf("%q: got %v", syntax, err)
		}
	}
	for name, c := range map[string]commands.Command{
		"twice":      {Declaration: "a", Handler: handler, Options: []commands.Option{{Syntax: "-t"}, {Syntax: "-x, -t <v>"}}},
		"alias":      {Declaration: "a", Handler: handler, Aliases: []string{"b c"}},
		"no alias":   {Declaration: "a", Handler: handler, Aliases: []string{""}},
		"no handler": {Declaration: "a <x>"},
	} {
		if _, err := b.r.Register(b.Root(), c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	commands.Use(b.Root(), commands.Command{Declaration: "Bad", Handler: handler})
	if len(b.Logs.Find("ERROR", "Command is malformed", "Bad")) != 1 {
		t.Error("Use must log what is malformed")
	}
	if got := len(b.r.List()); got != 7 {
		t.Errorf("%d commands; malformed ones left something behind", got)
	}
}

func TestExecuteFailures(t *testing.T) {
	b := start(t, inChinese())
	b.add(b.Root(), commands.Command{Declaration: "err", Handler: func(context.Context, commands.Call) (string, error) {
		return "half", errors.New("磁盘已满")
	}})
	b.add(b.Root(), commands.Command{Declaration: "panic", Handler: func(context.Context, commands.Call) (string, error) { panic("oh") }})
	if got := b.run("/err"); got != "指令执行失败: 磁盘已满" {
		t.Errorf("got %q", got)
	}
	if got := b.run("/panic"); got != "指令执行失败: panic: oh" {
		t.Errorf("got %q", got)
	}
}

func TestEmptyPrefix(t *testing.T) {
	b := start(t)
	b.Apply(func(c *kernel.Config) {
		c.Plugins[Plugin.Name] = kernel.PluginConfig{Module: Plugin.Name, Config: map[string]any{"commandPrefix": ""}}
	})
	if b.registry() != b.r || b.r.Prefix() != "" {
		t.Fatal("the prefix must change without a bounce")
	}
	for line, want := range map[string]bool{"help": true, "help me": true, "hello": false, "/help": false, "": false} {
		if _, ok := b.r.Parse(line); ok != want {
			t.Errorf("%q: got %t", line, ok)
		}
	}
	if err := b.App.Validate(kernel.Config{Plugins: map[string]kernel.PluginConfig{
		Plugin.Name: {Module: Plugin.Name, Config: map[string]any{"commandPrefix": "a b"}},
	}}); err == nil || !strings.Contains(err.Error(), "commandPrefix") {
		t.Errorf("got %v", err)
	}
}

// TestUse is case 8.6.7.
func TestUse(t *testing.T) {
	b := start(t)
	one, two := b.fork("one"), b.fork("two")
	c := says("x", "first")
	c.Aliases, c.Options = []string{"y"}, []commands.Option{{Syntax: "-f"}}
	commands.Use(one, c)
	commands.Use(two, says("x", "second"))
	if err := b.App.Plugins().Bounce(context.Background(), Plugin.Name); err != nil {
		t.Fatal(err)
	}
	b.Idle()
	if again := b.registry(); again == b.r {
		t.Fatal("the registry is the old one")
	} else {
		b.r = again
	}
	b.dispose(two)
	if got := b.run("/y -f"); got != "first" {
		t.Errorf("got %q", got)
	}
	if err := b.App.Plugins().Disable(context.Background(), Plugin.Name); err != nil {
		t.Fatal(err)
	}
	b.Idle()
	off := commands.Use(one, says("later", "later"))
	if err := b.App.Plugins().Enable(Plugin.Name); err != nil {
		t.Fatal(err)
	}
	b.Idle()
	b.r = b.registry()
	if got := b.run("/later"); got != "later" {
		t.Errorf("got %q", got)
	}
	off()
	if _, ok := b.r.Parse("/later"); ok {
		t.Error("not taken back")
	}
	b.dispose(one)
	if _, ok := b.r.Parse("/x"); ok {
		t.Error("not taken back")
	}
	if _, err := b.r.Register(one, says("late", "")); err != nil {
		t.Error(err)
	}
	if _, ok := b.r.Parse("/late"); ok {
		t.Error("a plugin that is gone registered a command")
	}
}

func TestConcurrentUse(t *testing.T) {
	kerneltest.NoLeaks(t)
	b := start(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 50 {
				off := b.add(b.Root(), says(fmt.Sprintf("c%d.d%d", (i+j)%3, j%4), "x"))
				b.r.Help("")
				b.r.List()
				if got := b.run("/clear.list"); got == "" {
					t.Error("nothing said")
				}
				off()
			}
		})
	}
	wg.Wait()
	if got := len(b.r.List()); got != 7 {
		t.Errorf("left behind: %v", b.r.Names())
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"/help a", `/clear -t "a b`, "/clear --type=a,b -- -x", "/clear\\", "/ help", "/clear list -5", "/help \xff😀"} {
		f.Add(s)
	}
	b := start(f)
	b.add(b.Root(), shows("opts <a> [b:number] [c:text]", commands.Option{Syntax: "-n, --num [v:number]"}, commands.Option{Syntax: "-l <v:string[]>"}))
	f.Fuzz(func(t *testing.T, line string) {
		for _, text := range []string{line, "/opts " + line} {
			p, ok := b.r.Parse(text)
			if !ok {
				continue
			}
			if got := b.r.Execute(context.Background(), p, commands.Call{}); got == "" {
				t.Errorf("%q: no answer", text)
			}
			for _, w := range p.Tokens {
				if w == "" {
					t.Errorf("%q: an empty token", text)
				}
			}
		}
	})
}

func FuzzDeclaration(f *testing.F) {
	for _, s := range [][2]string{{"a <x:number> [y:text]", "-t, --type <v:string[]>"}, {"a.b", "--x [v]"}, {"a [", "-a [v:string[]]"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, declaration, syntax string) {
		if name, args, err := parseDeclaration(declaration); err == nil {
			again := name
			for _, a := range args {
				again += " " + a.String()
			}
			n, second, err := parseDeclaration(again)
			if err != nil || n != name || !slices.Equal(second, args) {
				t.Errorf("%q became %q: %v %v", declaration, again, second, err)
			}
		}
		if o, err := parseOption(commands.Option{Syntax: syntax}); err == nil {
			again, err := parseOption(commands.Option{Syntax: o.String()})
			if err != nil || again.name != o.name || again.kind != o.kind || again.mode != o.mode {
				t.Errorf("%q became %q: %+v %v", syntax, o.String(), again, err)
			}
		}
	})
}
