// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/commands"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

var update = flag.Bool("update", false, "write the golden files")

// library are commands with everything that help can show.
func library(b *bot) {
	k := b.Root()
	full := commands.Command{
		Declaration: "model <keyword> [page:number] [rest:text]", Description: "List or find models (with pages), and more",
		Usage: "The keyword is part of a name.", Aliases: []string{"m", "模型"},
		Examples: []string{"/model gpt", "/model gpt 2 ```code```"},
		Options: []commands.Option{
			{Syntax: "-p, --page [n:number]", Description: "page to show", Default: 1},
			{Syntax: "--kind <种类:string[]>", Description: "what kind", Choices: []string{"chat", "embed"}, Required: true},
			{Syntax: "-q", Description: ""},
		},
		Translations: map[string]commands.Texts{"zh-CN": {
			Description: "列出或搜索可用的对话模型，支持分页", Usage: "关键词是名称的一部分。",
			Options: map[string]string{"page": "页码", "kind": "类别"},
		}},
		Handler: says("", "").Handler,
	}
	b.add(k, full)
	b.add(k, says("model.set", "Set the model of a very long name indeed which goes on and on"))
	b.add(k, says("model.reset", "重置：恢复默认"))
	b.add(k, says("group.one", "One"))
	b.add(k, commands.Command{Declaration: "tools", Description: "工具（内部）"})
	b.add(k, says("tools.list", "List"))
	b.add(k, says("bare", ""))
}

// TestHelp compares help with golden files in both languages; -update writes them.
func TestHelp(t *testing.T) {
	for lang, opts := range map[string][]kerneltest.Option{"en": nil, "zh-CN": {inChinese()}} {
		b := start(t, opts...)
		library(b)
		for name, line := range map[string]string{
			"overview": "/help", "model": "/help model", "model-set": "/help m set", "group": "/help /group", "tools": "/help tools",
			"unknown": "/help modle", "too-deep": "/help model set nothing", "clear": "/help clear", "bare": "/help bare",
		} {
			got := b.run(line) + "\n"
			file := filepath.Join("testdata", "help-"+name+"."+lang+".golden")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s in %s (-want +got):\n%s", line, lang, diff)
			}
		}
		if b.r.Help("model set") != b.r.Help("model.set") {
			t.Error("a b and a.b differ")
		}
	}
}

func TestHelpOfNothing(t *testing.T) {
	b := start(t)
	r := newRegistry(b.Root(), "!")
	if got := r.Help(""); got != "There are no commands besides !help." {
		t.Errorf("got %q", got)
	}
	if got := r.Help("x"); got != `There is no command "!x". !help lists all commands.` {
		t.Errorf("got %q", got)
	}
}

func TestBrief(t *testing.T) {
	for in, want := range map[string]string{
		"":                      "",
		"列出模型。更多":               "列出模型",
		"a; b":                  "a",
		"清除（危险）":                "清除",
		"one, two":              "one",
		"时间: 1":                 "时间",
		" line \n next":         "line",
		strings.Repeat("长", 24): strings.Repeat("长", 24),
		strings.Repeat("长", 25): strings.Repeat("长", 24) + "…",
		strings.Repeat("😀", 30): strings.Repeat("😀", 24) + "…",
		"：x":                    "",
	} {
		if got := brief(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestWidth(t *testing.T) {
	for in, want := range map[string]int{
		"": 0, "abc": 3, "模型": 4, "a模b": 4, "，。（）": 8, "ｆｕ": 4, "한국": 4, "かな": 4, "😀": 2, "é": 1, "e\u0301": 1, "a\u200bb": 2, "…—": 2,
	} {
		if got := width(in); got != want {
			t.Errorf("%q: got %d, want %d", in, got, want)
		}
	}
}

func TestFence(t *testing.T) {
	for in, want := range map[string]string{"": "```", "a`b": "```", "```": "````", "x ```` y `": "`````"} {
		if got := fenceFor(in); got != want {
			t.Errorf("%q: got %q", in, got)
		}
	}
}

func TestHelpShowsNamesOfRestrictedCommands(t *testing.T) {
	b := start(t)
	c := says("secret.door", "hidden")
	c.Policy = access.Policy{Risk: access.Dangerous}
	b.add(b.Root(), c)
	if got := b.r.Execute(context.Background(), commands.Parsed{Name: "secret"}, commands.Call{}); !strings.Contains(got, "/secret.door") {
		t.Errorf("got %q", got)
	}
}
