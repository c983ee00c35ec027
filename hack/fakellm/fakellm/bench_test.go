// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fakellm_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/aalis-dev/aalis-operator/hack/fakellm/fakellm"
)

// BenchmarkStreams prints how many streams and chunks a second go over loopback, client included.
func BenchmarkStreams(b *testing.B) {
	for _, chunks := range []int{10, 1000} {
		b.Run(strconv.Itoa(chunks), func(b *testing.B) {
			f := start(b, fakellm.Options{})
			f.c.Transport.(*http.Transport).MaxIdleConnsPerHost = 64
			body := ask("fake-1", "#repeat "+strconv.Itoa(chunks), true)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					resp, err := f.c.Post(f.url+"/v1/chat/completions", "application/json", strings.NewReader(body))
					if err != nil {
						b.Error(err)
						return
					}
					_, err = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
					if err != nil {
						b.Error(err)
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "streams/s")
			b.ReportMetric(float64(b.N*chunks)/b.Elapsed().Seconds(), "chunks/s")
		})
	}
}

// BenchmarkHandler measures the server alone, with a writer that drops everything. A chunk must not allocate: the
// allocations an operation are those of the request.
func BenchmarkHandler(b *testing.B) {
	for _, text := range []string{"#repeat 1000", "#say " + strings.Repeat("word ", 1000)} {
		b.Run(text[1:4], func(b *testing.B) {
			s := fakellm.New(fakellm.Options{})
			body := []byte(ask("fake-1", text, true))
			w := dropWriter{header: http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", bytes.NewReader(body)))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/chunk")
		})
	}
}

type dropWriter struct{ header http.Header }

func (w dropWriter) Header() http.Header         { return w.header }
func (w dropWriter) Write(b []byte) (int, error) { return len(b), nil }
func (w dropWriter) WriteHeader(int)             {}
func (w dropWriter) Flush()                      {}
