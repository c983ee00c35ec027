// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernelconfig

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
)

// MaxCompressedBytes is the most that one revision may take in a ConfigMap, gzipped. Two of them and their
// headers stay under the API server's limit of 1 MiB for an object.
const MaxCompressedBytes = 400 * 1024

// maxEncodedBytes bounds what Unpack inflates, so that a damaged or hostile object cannot fill the memory.
const maxEncodedBytes = 64 * 1024 * 1024

// The keys of the ConfigMap that carries a bot's config. The header of a slot is in data, its gzipped config in
// binaryData. A mounted copy has files of the same names.
const (
	KeyCurrent      = "current"
	KeyCurrentData  = "current.json.gz"
	KeyLastGood     = "lastGood"
	KeyLastGoodData = "lastGood.json.gz"
)

// Delivery is one revision on its way to a kernel.
type Delivery struct {
	// Revision is the hash of the config's canonical bytes.
	Revision string `json:"revision"`
	// Sequence grows with every delivery; a kernel never applies a lower one.
	Sequence int64 `json:"sequence"`
	// Data is the gzipped canonical config.
	Data []byte `json:"-"`
}

// Pack encodes and compresses a config. The result is the same for the same config. It is an error if the result
// is over MaxCompressedBytes.
func Pack(c Config, sequence int64) (Delivery, error) {
	encoded, err := c.Encode()
	if err != nil {
		return Delivery{}, err
	}
	data, err := compress(encoded)
	if err != nil {
		return Delivery{}, err
	}
	if len(data) > MaxCompressedBytes {
		return Delivery{}, &TooLargeError{Size: len(data)}
	}
	return Delivery{Revision: Revision(encoded), Sequence: sequence, Data: data}, nil
}

// TooLargeError says that a config does not fit into its ConfigMap.
type TooLargeError struct {
	// Size of the gzipped config in bytes.
	Size int
}

// Error implements error.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the composed config takes %d bytes gzipped; it may take at most %d", e.Size, MaxCompressedBytes)
}

// Unpack inflates and decodes a delivery and checks its revision.
func (d Delivery) Unpack() (Config, error) {
	zr, err := gzip.NewReader(bytes.NewReader(d.Data))
	if err != nil {
		return Config{}, fmt.Errorf("inflating revision %s: %w", d.Revision, err)
	}
	encoded, err := io.ReadAll(io.LimitReader(zr, maxEncodedBytes+1))
	if err != nil {
		return Config{}, fmt.Errorf("inflating revision %s: %w", d.Revision, err)
	}
	if len(encoded) > maxEncodedBytes {
		return Config{}, fmt.Errorf("inflating revision %s: more than %d bytes", d.Revision, maxEncodedBytes)
	}
	if got := Revision(encoded); got != d.Revision {
		return Config{}, fmt.Errorf("revision %s: its data hash to %s", d.Revision, got)
	}
	return Decode(encoded)
}

// Slots is the content of a bot's ConfigMap.
type Slots struct {
	// Current is the revision that is wanted.
	Current *Delivery
	// LastGood is the last revision that a kernel acknowledged.
	LastGood *Delivery
}

// Maps gives the data and binaryData of the ConfigMap.
func (s Slots) Maps() (data map[string]string, binaryData map[string][]byte, err error) {
	data, binaryData = map[string]string{}, map[string][]byte{}
	put := func(key, dataKey string, d *Delivery) error {
		if d == nil {
			return nil
		}
		header, err := json.Marshal(d)
		if err != nil {
			return fmt.Errorf("encoding the header of %s: %w", key, err)
		}
		data[key], binaryData[dataKey] = string(header), d.Data
		return nil
	}
	if err := put(KeyCurrent, KeyCurrentData, s.Current); err != nil {
		return nil, nil, err
	}
	if err := put(KeyLastGood, KeyLastGoodData, s.LastGood); err != nil {
		return nil, nil, err
	}
	return data, binaryData, nil
}

// ReadSlots reads the data and binaryData of a bot's ConfigMap. A slot that is absent is nil; a slot whose header
// cannot be read, or whose data are missing, is an error.
func ReadSlots(data map[string]string, binaryData map[string][]byte) (Slots, error) {
	current, err := readSlot(data, binaryData, KeyCurrent, KeyCurrentData)
	if err != nil {
		return Slots{}, err
	}
	lastGood, err := readSlot(data, binaryData, KeyLastGood, KeyLastGoodData)
	if err != nil {
		return Slots{}, err
	}
	return Slots{Current: current, LastGood: lastGood}, nil
}

func readSlot(data map[string]string, binaryData map[string][]byte, key, dataKey string) (*Delivery, error) {
	header, ok := data[key]
	if !ok {
		return nil, nil
	}
	var d Delivery
	if err := json.Unmarshal([]byte(header), &d); err != nil {
		return nil, fmt.Errorf("reading the header of %s: %w", key, err)
	}
	d.Data, ok = binaryData[dataKey]
	if !ok {
		return nil, fmt.Errorf("reading %s: %s is missing", key, dataKey)
	}
	return &d, nil
}

func compress(encoded []byte) ([]byte, error) {
	var buf bytes.Buffer
	zw, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("compressing the kernel config: %w", err)
	}
	if _, err := zw.Write(encoded); err != nil {
		return nil, fmt.Errorf("compressing the kernel config: %w", err)
	}
	if err := zw.Close(); err != nil {
		return nil, fmt.Errorf("compressing the kernel config: %w", err)
	}
	return buf.Bytes(), nil
}
