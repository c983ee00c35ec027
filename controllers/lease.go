// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"errors"
	"fmt"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// namespaceFile holds the namespace of the pod.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// newLease makes the lock of the election, or none where there is no election. With an identity that outlives the
// process, a container that starts again does not wait for its own former lease to run out.
func newLease(config *rest.Config, opts Options) (resourcelock.Interface, error) {
	if !opts.LeaderElection {
		return nil, nil
	}
	namespace := opts.LeaderElectionNamespace
	if namespace == "" {
		data, err := os.ReadFile(namespaceFile)
		if err != nil {
			return nil, errors.New("setting up the election: outside a pod the namespace of the lease must be given")
		}
		namespace = strings.TrimSpace(string(data))
	}
	identity := opts.Identity
	if identity == "" {
		identity = string(uuid.NewUUID())
	}
	config = rest.CopyConfig(config)
	config.Timeout = renewDeadline / 2 // so that one lost answer does not lose the lease
	client, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("setting up the election: %w", err)
	}
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: leaderElectionID},
		Client:     client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}, nil
}
