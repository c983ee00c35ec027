// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package vectors

import (
	"context"
	"fmt"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp"
)

// PriceOf reads the field prices of a config and gives the price of one model; nil if none is declared. Its error names the
// field.
func PriceOf(prices, model string) (*llm.Price, error) {
	all, err := llmhttp.ParsePrices(prices)
	if err != nil {
		return nil, fmt.Errorf("config.prices: %w", err)
	}
	return llmhttp.Models{Prices: all}.Price(model), nil
}

// Reprice has a change of the prices alone take effect while the plugin runs; any other needs a bounce. Split parts a config
// into its prices, its model, and the config without its prices.
func Reprice[C comparable](k *kernel.Context, reprice func(*llm.Price), split func(C) (prices, model string, rest C)) {
	kernel.OnReconfigure(k, func(_ context.Context, before, after C) error {
		_, _, old := split(before)
		prices, model, rest := split(after)
		if old != rest {
			return kernel.ErrNeedsBounce
		}
		price, err := PriceOf(prices, model)
		if err != nil {
			return err
		}
		reprice(price)
		return nil
	})
}
