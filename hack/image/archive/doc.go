// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package archive writes a container image as one tarball, without a container
// engine and without a base image: the files that the caller names, the CA
// certificates of the machine, a minimal /etc/passwd and an empty /tmp.
//
// It is called by the image command (hack/image) for the product's images and
// by hack/cluster for the images of the development cluster. It never talks to
// a registry, never pulls anything and never starts a process.
//
// The same input gives the same bytes: entries are sorted, owners and times are
// fixed, and nothing of the machine but the named files gets in.
package archive
