// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reload has the kubelet look at the Secrets of a bot's pods at once, by touching an annotation of the pods with
// the caller's own rights, and waits until the kernels have seen them. It reads no Secret.
package reload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/cluster"
)

// Touch changes the annotation of each pod to now and gives the names of the pods. It is an error if there is no pod.
func Touch(ctx context.Context, c client.Client, live cluster.Live, now time.Time) ([]string, error) {
	if len(live.Pods) == 0 {
		reason := "it has no pod"
		if len(live.Notes) > 0 {
			reason = strings.Join(live.Notes, "; ")
		}
		return nil, fmt.Errorf("bot %s/%s cannot be reloaded: %s", live.Instance.Namespace, live.Instance.Name, reason)
	}
	var names []string
	for i := range live.Pods {
		pod := live.Pods[i].DeepCopy()
		if pod.DeletionTimestamp != nil {
			continue
		}
		before := pod.DeepCopy()
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		pod.Annotations[v1alpha1.AnnotationReload] = now.UTC().Format(time.RFC3339Nano)
		err := c.Patch(ctx, pod, client.MergeFrom(before))
		switch {
		case apierrors.IsNotFound(err): // it is gone, and a new one reads its Secrets anew
		case err != nil:
			return names, fmt.Errorf("touching pod %s/%s: %w", pod.Namespace, pod.Name, err)
		default:
			names = append(names, pod.Name)
		}
	}
	return names, nil
}

// secretService is how a kernel names a Secret key that a plugin waits for.
const secretService = "secret:"

// Waiting lists the plugins that wait for a Secret key, with what they wait for, as the kernels of living pods say.
func Waiting(live cluster.Live) []string {
	var out []string
	for _, pod := range live.Pods {
		report := live.Replica(pod)
		if report == nil {
			out = append(out, pod.Name+": has not reported yet")
			continue
		}
		for _, p := range report.Status.Plugins {
			if p.State == v1alpha1.StatePending && strings.Contains(p.Message, secretService) {
				out = append(out, p.ID+": "+p.Message)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// readTimeout bounds one look at the bot.
const readTimeout = 30 * time.Second

// Wait waits until no plugin waits for a Secret key, asking every interval. Its error, at the end of the time, says which
// still do.
func Wait(ctx context.Context, c client.Client, namespace, name string, timeout, interval time.Duration) error {
	var waiting []string
	err := wait.PollUntilContextTimeout(ctx, interval, timeout, true, func(context.Context) (bool, error) {
		// A read that the end of the time cuts off would tell of the read and not of what is waited for.
		read, cancel := context.WithTimeout(ctx, readTimeout)
		defer cancel()
		live, err := cluster.ReadLive(read, c, namespace, name)
		if err != nil {
			return false, err
		}
		waiting = Waiting(live)
		return len(waiting) == 0, nil
	})
	if errors.Is(err, context.DeadlineExceeded) && len(waiting) > 0 {
		return fmt.Errorf("after %s there is still something that waits for a Secret: %s", timeout, strings.Join(waiting, "; "))
	}
	return err
}
