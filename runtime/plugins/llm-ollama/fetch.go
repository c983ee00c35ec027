// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmollama

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/netguard"
)

const (
	// maxDownload bounds a fetched picture or sound, in bytes.
	maxDownload  = 20 << 20
	fetchTimeout = 30 * time.Second
)

var errTooLarge = fmt.Errorf("it is larger than %d MiB", maxDownload>>20)

// fetcher gets pictures and sounds from addresses that chat users chose, who may not reach into the cluster by them.
type fetcher struct{ guard *netguard.Guard }

func newFetcher(k *kernel.Context, policy func() netguard.Policy) *fetcher {
	return &fetcher{guard: netguard.For(k, netguard.Options{Policy: policy, Timeout: fetchTimeout, MaxBytes: maxDownload})}
}

// get fetches a picture or sound. Errors do not show the address, which may hold a token.
func (f *fetcher) get(ctx context.Context, source string) (medium, error) {
	r, err := f.guard.Fetch(ctx, netguard.Caller{}, source, nil)
	switch {
	case errors.Is(err, netguard.ErrTooLarge):
		return medium{}, errTooLarge
	case err != nil:
		return medium{}, err
	case r.Status != http.StatusOK:
		return medium{}, fmt.Errorf("fetching it: the server answered %d", r.Status)
	case len(r.Body) == 0:
		return medium{}, errors.New("it is empty")
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return medium{base64: base64.StdEncoding.EncodeToString(r.Body), mime: kind}, nil
}
