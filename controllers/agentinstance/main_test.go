// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance_test

import (
	"os"
	"testing"

	"github.com/aalis-dev/aalis-operator/controllers/testenv"
)

// env is the control plane of this package's tests.
var env testenv.Environment

func TestMain(m *testing.M) { os.Exit(env.Run(m)) }
