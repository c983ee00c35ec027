// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Mounts returns the mount points at and below the folders, the innermost first.
func Mounts(folders ...string) ([]string, error) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("reading the mounts: %w", err)
	}
	return mountsBelow(string(data), folders), nil
}

// mountsBelow finds the mount points in the text of mountinfo. Later lines are
// mounted over earlier ones, so that the reverse order is the one to unmount in.
func mountsBelow(mountinfo string, folders []string) []string {
	var out []string
	for line := range strings.Lines(mountinfo) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		point := unescape(fields[4])
		if slices.ContainsFunc(folders, func(f string) bool { return point == f || strings.HasPrefix(point, f+"/") }) {
			out = append(out, point)
		}
	}
	slices.Reverse(out)
	return out
}

// unescape resolves the octal escapes of mountinfo, such as \040 for a blank.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// Unmount unmounts everything at and below the folders. What is busy is
// detached, so that it goes with its last user.
func Unmount(folders ...string) error {
	points, err := Mounts(folders...)
	if err != nil {
		return err
	}
	var errs []error
	for _, point := range points {
		err := syscall.Unmount(point, 0)
		if errors.Is(err, syscall.EBUSY) {
			err = syscall.Unmount(point, syscall.MNT_DETACH)
		}
		if err != nil && !errors.Is(err, syscall.EINVAL) { // EINVAL: gone already
			errs = append(errs, fmt.Errorf("unmounting %s: %w", point, err))
		}
	}
	return errors.Join(errs...)
}
