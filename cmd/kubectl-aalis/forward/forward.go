// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package forward opens a tunnel to a port of a pod through the API server, as kubectl port-forward does, and ends
// it with its context.
package forward

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/util/httpstream" //nolint:staticcheck // client-go's portforward still takes this package's types
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
)

// Tunnel is an open tunnel. Close ends it.
type Tunnel struct {
	port uint16
	stop chan struct{}
	done chan error
}

// Open opens a tunnel from a free loopback port to a port of a pod, and waits until it is ready.
func Open(ctx context.Context, config *rest.Config, namespace, pod string, port int) (*Tunnel, error) {
	dialer, err := newDialer(config, namespace, pod)
	if err != nil {
		return nil, err
	}
	t := &Tunnel{stop: make(chan struct{}), done: make(chan error, 1)}
	ready := make(chan struct{})
	fw, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf("0:%d", port)},
		t.stop, ready, io.Discard, io.Discard)
	if err != nil {
		return nil, fmt.Errorf("preparing a tunnel to pod %s/%s: %w", namespace, pod, err)
	}
	go func() { t.done <- fw.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-t.done:
		return nil, fmt.Errorf("opening a tunnel to pod %s/%s: %w", namespace, pod, orClosed(err))
	case <-ctx.Done():
		close(t.stop)
		return nil, ctx.Err()
	}
	ports, err := fw.GetPorts()
	if err != nil {
		t.Close()
		return nil, fmt.Errorf("opening a tunnel to pod %s/%s: %w", namespace, pod, err)
	}
	t.port = ports[0].Local
	return t, nil
}

func orClosed(err error) error {
	if err == nil {
		return errors.New("the connection was closed")
	}
	return err
}

// newDialer speaks WebSocket where the API server does, and SPDY where it does not.
func newDialer(config *rest.Config, namespace, pod string) (httpstream.Dialer, error) {
	target, err := url.Parse(config.Host)
	if err != nil || target.Host == "" {
		target, _, err = rest.DefaultServerUrlFor(config)
		if err != nil {
			return nil, fmt.Errorf("reading the server's address: %w", err)
		}
	}
	target.Path = strings.TrimRight(target.Path, "/") + "/api/v1/namespaces/" + namespace + "/pods/" + pod + "/portforward"
	rt, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection: %w", err)
	}
	fallback := spdy.NewDialer(upgrader, &http.Client{Transport: rt}, http.MethodPost, target)
	ws, err := portforward.NewSPDYOverWebsocketDialer(target, config)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection: %w", err)
	}
	return portforward.NewFallbackDialer(ws, fallback, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}

// URL is the local end of the tunnel.
func (t *Tunnel) URL() string { return fmt.Sprintf("http://127.0.0.1:%d", t.port) }

// Close ends the tunnel and waits for its goroutines. How an ended tunnel ended is of no interest.
func (t *Tunnel) Close() {
	close(t.stop)
	if err := <-t.done; err != nil {
		return
	}
}
