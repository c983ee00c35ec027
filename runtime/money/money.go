// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package money reads and writes amounts of money in billionths of a currency's unit, so that sums are exact. The operator,
// the runtime and the command line use it. It knows no exchange rates and never converts.
package money

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// PerUnit is how many billionths make a unit.
const PerUnit = 1_000_000_000

// AmountPattern and CurrencyPattern are what Parse and ParseCurrency take, for schemas.
const (
	AmountPattern   = `^[0-9]{1,9}(\.[0-9]{1,9})?$`
	CurrencyPattern = `^[A-Z]{3}$`
)

var (
	amount   = regexp.MustCompile(AmountPattern)
	currency = regexp.MustCompile(CurrencyPattern)
)

// Parse reads an amount: up to nine digits, and up to nine decimals.
func Parse(text string) (billionths int64, err error) {
	if !amount.MatchString(text) {
		return 0, fmt.Errorf("must be a number from 0 to 999999999 with at most nine decimals, got %q", text)
	}
	whole, part, _ := strings.Cut(text, ".")
	return strconv.ParseInt(whole+(part + "000000000")[:9], 10, 64)
}

// Format writes an amount, with as many decimals as it needs and at least two.
func Format(billionths int64) string {
	sign, n := "", uint64(billionths) //nolint:gosec // made positive next
	if billionths < 0 {
		sign, n = "-", math.MaxUint64-uint64(billionths)+1 //nolint:gosec // two's complement
	}
	part := fmt.Sprintf("%09d", n%PerUnit)
	for len(part) > 2 && part[len(part)-1] == '0' {
		part = part[:len(part)-1]
	}
	return sign + strconv.FormatUint(n/PerUnit, 10) + "." + part
}

// IsCurrency tells whether a text is a code in the form of ISO 4217, such as USD.
func IsCurrency(code string) bool { return currency.MatchString(code) }
