// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"fmt"

	"github.com/aalis-dev/aalis-operator/runtime/schema"
)

func Example() {
	type config struct {
		Greeting string `json:"greeting" maxLength:"20" desc:"What is said first."`
		Retries  int    `json:"retries" min:"0" max:"5"`
		Token    string `json:"token" secret:"true" required:"true"`
	}
	object, err := schema.Of(config{Greeting: "Hello", Retries: 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	given := map[string]any{"greting": "Hi", "retries": 9}
	for _, issue := range object.Validate(given) {
		fmt.Println(issue)
	}
	fmt.Println(object.WithDefaults(map[string]any{"retries": 1}))
	fmt.Println(object.SecretPaths())
	// Output:
	// retries: must be at most 5, got 9
	// token: must be given (from a Secret)
	// greting: unknown key, did you mean "greeting"?
	// map[greeting:Hello retries:1]
	// [token]
}
