// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// hierarchies returns the mount points of all cgroup hierarchies, of both
// versions.
func hierarchies() ([]string, error) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("reading the mounts: %w", err)
	}
	return parseHierarchies(string(data)), nil
}

func parseHierarchies(mountinfo string) []string {
	var out []string
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(line, " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(kind) < 1 || fields[3] != "/" {
			continue
		}
		point := unescape(fields[4])
		if (kind[0] == "cgroup" || kind[0] == "cgroup2") && !slices.Contains(out, point) {
			out = append(out, point)
		}
	}
	return out
}

// EnsureCgroups makes the parent of the pods' cgroups in every hierarchy.
func EnsureCgroups(root string) error {
	points, err := hierarchies()
	if err != nil {
		return err
	}
	for _, point := range points {
		// Of version 2, where controllers have to be handed down. One that
		// cannot be is missed by the kubelet, which names it.
		if controllers, err := os.ReadFile(filepath.Join(point, "cgroup.controllers")); err == nil {
			for _, c := range strings.Fields(string(controllers)) {
				_ = os.WriteFile(filepath.Join(point, "cgroup.subtree_control"), []byte("+"+c), 0)
			}
		}
		if err := os.MkdirAll(filepath.Join(point, root), 0o755); err != nil {
			return fmt.Errorf("making the pods' cgroup: %w", err)
		}
	}
	return nil
}

// Cgroups returns the cgroup folders of the root, one for each hierarchy that
// has it.
func Cgroups(root string) ([]string, error) {
	points, err := hierarchies()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, point := range points {
		dir := filepath.Join(point, root)
		if _, err := os.Stat(dir); err == nil {
			out = append(out, dir)
		}
	}
	return out, nil
}

// CgroupProcesses returns the ids of all processes in and below the root's
// cgroups.
func CgroupProcesses(root string) ([]int, error) {
	dirs, err := Cgroups(root)
	if err != nil {
		return nil, err
	}
	seen := map[int]bool{}
	for _, dir := range dirs {
		for _, sub := range subfolders(dir) {
			data, err := os.ReadFile(filepath.Join(sub, "cgroup.procs"))
			if err != nil {
				continue // removed meanwhile
			}
			for _, word := range strings.Fields(string(data)) {
				if pid, err := strconv.Atoi(word); err == nil && pid > 1 {
					seen[pid] = true
				}
			}
		}
	}
	var out []int
	for pid := range seen {
		out = append(out, pid)
	}
	slices.Sort(out)
	return out, nil
}

// RemoveCgroups removes the root's cgroups, which must hold no process. The
// kernel lets go of an emptied cgroup with a delay, so that it is tried for a
// while.
func RemoveCgroups(root string, within time.Duration) error {
	deadline := time.Now().Add(within)
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for {
		dirs, err := Cgroups(root)
		if err != nil {
			return err
		}
		var errs []error
		for _, dir := range dirs {
			for _, sub := range slices.Backward(subfolders(dir)) {
				if err := os.Remove(sub); err != nil && !errors.Is(err, fs.ErrNotExist) {
					errs = append(errs, err)
				}
			}
		}
		if len(errs) == 0 || time.Now().After(deadline) {
			return errors.Join(errs...)
		}
		<-poll.C
	}
}

// subfolders returns a folder and all below it, parents first.
func subfolders(dir string) []string {
	var out []string
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return fs.SkipDir // removed meanwhile
		}
		if d.IsDir() {
			out = append(out, path)
		}
		return nil
	})
	return out
}
