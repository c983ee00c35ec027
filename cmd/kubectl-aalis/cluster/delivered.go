// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/render"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// Delivered reads the config that the operator has delivered to a bot; nil if there is none.
func Delivered(ctx context.Context, c client.Client, bot *v1alpha1.AgentInstance) (*kernelconfig.Config, error) {
	var cm corev1.ConfigMap
	key := client.ObjectKey{Namespace: bot.Namespace, Name: render.ChildName(bot.Name)}
	if err := c.Get(ctx, key, &cm); err != nil {
		return nil, fmt.Errorf("reading ConfigMap %s: %w", key, err)
	}
	slots, err := kernelconfig.ReadSlots(cm.Data, cm.BinaryData)
	if err != nil {
		return nil, fmt.Errorf("reading ConfigMap %s: %w", key, err)
	}
	if slots.Current == nil {
		return nil, nil
	}
	config, err := slots.Current.Unpack()
	if err != nil {
		return nil, fmt.Errorf("reading ConfigMap %s: %w", key, err)
	}
	return &config, nil
}
