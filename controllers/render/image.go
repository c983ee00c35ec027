// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"strings"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// ImageNotAllowedError says that an instance names an image that the operator's allow-list does not have.
type ImageNotAllowedError struct {
	// Image that was named.
	Image string
	// Allowed are the patterns of the allow-list.
	Allowed []string
}

// Error implements error.
func (e *ImageNotAllowedError) Error() string {
	if len(e.Allowed) == 0 {
		return fmt.Sprintf("spec.image: %q is not allowed: the operator allows no image but its own; leave spec.image out", e.Image)
	}
	return fmt.Sprintf("spec.image: %q is not allowed; it must match one of: %s", e.Image, strings.Join(e.Allowed, ", "))
}

// Image gives the image that an instance runs, or an *ImageNotAllowedError.
func Image(in *v1alpha1.AgentInstance, opts Options) (string, error) {
	image := in.Spec.Image
	if image == "" || image == opts.RuntimeImage {
		return opts.RuntimeImage, nil
	}
	for _, pattern := range opts.AllowedImages {
		if matches(pattern, image) {
			return image, nil
		}
	}
	return "", &ImageNotAllowedError{Image: image, Allowed: opts.AllowedImages}
}

// matches compares a text with a pattern in which '*' stands for any run of characters, in linear time in the number
// of stars.
func matches(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	first, last := parts[0], parts[len(parts)-1]
	if !strings.HasPrefix(text, first) {
		return false
	}
	text = text[len(first):]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return strings.HasSuffix(text, last)
}
