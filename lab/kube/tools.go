//go:build tools

// Programs that are built from this module beside ours: the requirement of each is kept by its import.
package main

import (
	_ "helm.sh/helm/v3/cmd/helm"
	_ "sigs.k8s.io/kwok/cmd/kwok"
)
