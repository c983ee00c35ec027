// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// A watch is ended by the server after a random time between these, so that bots do not come back together; if the
// server does not, the client does, watchGrace later.
const (
	minWatch   = 5 * time.Minute
	maxWatch   = 10 * time.Minute
	watchGrace = 30 * time.Second
	// shortWatch is how long a watch must have lived for the next one to follow with no pause.
	shortWatch = time.Second
	// listTimeout bounds a list.
	listTimeout = 30 * time.Second
	// maxAnswer bounds a list: an object is at most 3 MiB as JSON.
	maxAnswer = 16 << 20
)

// Update is what the ConfigMap says.
type Update struct {
	// Slots of the ConfigMap; empty when it does not exist.
	Slots kernelconfig.Slots
	// Err says why the slot current could not be read.
	Err error
}

// FollowOptions configure Follow. Client, Namespace, Name, OnUpdate and Logger must be set.
type FollowOptions struct {
	Client          *Client
	Namespace, Name string
	Logger          *slog.Logger
	// OnUpdate is told what the ConfigMap says, at once and after every change. It must not block.
	OnUpdate func(Update)
	// OnList is told of every list, with its error; nil means the API answered. It may be nil.
	OnList func(error)
	// Wait waits for d or until ctx ends; nil means a timer.
	Wait func(ctx context.Context, d time.Duration) error
}

// Follow lists and watches the ConfigMap until ctx ends. While the API is away it tries on.
func Follow(ctx context.Context, o FollowOptions) {
	if o.Wait == nil {
		o.Wait = sleep
	}
	f := &follower{FollowOptions: o, backoff: backoff{wait: o.Wait}}
	for ctx.Err() == nil {
		err := f.listAndWatch(ctx)
		if ctx.Err() != nil {
			return
		}
		f.report(err)
		if f.backoff.pause(ctx) != nil {
			return
		}
	}
}

type follower struct {
	FollowOptions
	backoff backoff
	version string
	down    bool // the API is away, as the log has been told
}

// errExpired says that the resource version is too old to watch from.
var errExpired = errors.New("the resource version has expired")

// report tells the log of a failure, but not again and again.
func (f *follower) report(err error) {
	switch {
	case errors.Is(err, errExpired):
		f.Logger.Debug("Listing the ConfigMap again", "reason", err)
	case !f.down:
		f.down = true
		f.Logger.Warn("The Kubernetes API is away; going on with what runs", "error", err)
	default:
		f.Logger.Debug("The Kubernetes API is still away", "error", err)
	}
}

func (f *follower) reachable() {
	f.backoff.reset()
	if f.down {
		f.down = false
		f.Logger.Info("The Kubernetes API is back")
	}
}

// listAndWatch lists once and then watches, again and again, until something fails.
func (f *follower) listAndWatch(ctx context.Context) error {
	err := f.list(ctx)
	if ctx.Err() == nil && f.OnList != nil {
		f.OnList(err)
	}
	if err != nil {
		return fmt.Errorf("listing the ConfigMap %s: %w", f.Name, err)
	}
	f.reachable()
	for {
		started := time.Now()
		err := f.watch(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errExpired):
			return err
		case err == nil && time.Since(started) >= shortWatch:
			continue // the server's own timeout
		case err != nil:
			f.report(err)
		}
		if err := f.backoff.pause(ctx); err != nil {
			return err
		}
	}
}

func (f *follower) path() string {
	return "/api/v1/namespaces/" + url.PathEscape(f.Namespace) + "/configmaps"
}

func (f *follower) selector() url.Values {
	return url.Values{"fieldSelector": {"metadata.name=" + f.Name}}
}

func (f *follower) list(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	resp, err := f.Client.do(ctx, request{method: http.MethodGet, path: f.path(), query: f.selector()})
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	var list struct {
		Metadata objectMeta  `json:"metadata"`
		Items    []configMap `json:"items"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&list); err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	f.version = list.Metadata.ResourceVersion
	if len(list.Items) == 0 {
		f.Logger.Warn("The ConfigMap does not exist", "name", f.Name)
		f.OnUpdate(Update{})
		return nil
	}
	f.OnUpdate(list.Items[0].update())
	return nil
}

// watch follows the ConfigMap from the known version until the server ends the watch.
func (f *follower) watch(ctx context.Context) error {
	timeout := minWatch + rand.N(maxWatch-minWatch)
	ctx, cancel := context.WithTimeout(ctx, timeout+watchGrace)
	defer cancel()
	query := f.selector()
	query.Set("watch", "true")
	query.Set("allowWatchBookmarks", "true")
	query.Set("resourceVersion", f.version)
	query.Set("timeoutSeconds", strconv.Itoa(int(timeout.Seconds())))
	resp, err := f.Client.do(ctx, request{method: http.MethodGet, path: f.path(), query: query})
	if err != nil {
		if hasCode(err, http.StatusGone) {
			return errExpired
		}
		return fmt.Errorf("watching: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	f.reachable()
	dec := json.NewDecoder(resp.Body)
	for {
		var e event
		err := dec.Decode(&e)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("watching: %w", err)
		}
		if err := f.handle(e); err != nil {
			return err
		}
	}
}

// event is one line of a watch.
type event struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`
}

func (f *follower) handle(e event) error {
	if e.Type == "ERROR" {
		s := &StatusError{}
		var status struct {
			Code    int    `json:"code"`
			Reason  string `json:"reason"`
			Message string `json:"message"`
		}
		if err := json.Unmarshal(e.Object, &status); err != nil {
			return fmt.Errorf("watching: reading an error: %w", err)
		}
		if status.Code == http.StatusGone {
			return errExpired
		}
		s.Code, s.Reason, s.Message = status.Code, status.Reason, status.Message
		return fmt.Errorf("watching: %w", s)
	}
	var cm configMap
	if err := json.Unmarshal(e.Object, &cm); err != nil {
		return fmt.Errorf("watching: reading an event: %w", err)
	}
	if cm.Metadata.ResourceVersion != "" {
		f.version = cm.Metadata.ResourceVersion
	}
	switch e.Type {
	case "ADDED", "MODIFIED":
		f.OnUpdate(cm.update())
	case "DELETED":
		f.Logger.Warn("The ConfigMap was deleted; going on with what runs", "name", f.Name)
	}
	return nil
}

type objectMeta struct {
	ResourceVersion string `json:"resourceVersion"`
}

// configMap is the part of a ConfigMap that is needed here.
type configMap struct {
	Metadata   objectMeta        `json:"metadata"`
	Data       map[string]string `json:"data"`
	BinaryData map[string][]byte `json:"binaryData"`
}

func (c configMap) update() Update { return readUpdate(c.Data, c.BinaryData) }

// readUpdate reads the slots. If current is damaged, lastGood is still worth having.
func readUpdate(data map[string]string, binaryData map[string][]byte) Update {
	slots, err := kernelconfig.ReadSlots(data, binaryData)
	if err == nil {
		return Update{Slots: slots}
	}
	u := Update{Err: err}
	rest := map[string]string{}
	if v, ok := data[kernelconfig.KeyLastGood]; ok {
		rest[kernelconfig.KeyLastGood] = v
	}
	if slots, err := kernelconfig.ReadSlots(rest, binaryData); err == nil {
		u.Slots = slots
		return u
	}
	// It is lastGood that is damaged, which only matters if current is, too.
	delete(rest, kernelconfig.KeyLastGood)
	if v, ok := data[kernelconfig.KeyCurrent]; ok {
		rest[kernelconfig.KeyCurrent] = v
	}
	if slots, err := kernelconfig.ReadSlots(rest, binaryData); err == nil {
		return Update{Slots: slots}
	}
	return u
}
