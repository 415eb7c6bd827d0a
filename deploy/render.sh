#!/bin/sh
# Renders deploy/kustomize from the chart. A test runs it and compares: change the chart, then run this.
#   deploy/render.sh [FOLDER]       HELM names the helm to use
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-"$here/kustomize"}
helm=${HELM:-helm}
rendered=$(mktemp)
trap 'rm -f "$rendered"' EXIT

for mode in cronjob daemon; do
	mkdir -p "$out/$mode"
	# Into a file first: a helm that fails must not leave half of it behind a pipe.
	"$helm" template dalsegno "$here/helm/dalsegno" --kube-version 1.30.0 --namespace dalsegno \
		--values "$here/kustomize/values.yaml" --set "mode=$mode" >"$rendered"
	grep -v -e 'helm.sh/chart:' -e 'managed-by: Helm' -e '^# Source:' "$rendered" >"$out/$mode/dalsegno.yaml"
	cat >"$out/$mode/kustomization.yaml" <<-END
		# Rendered from the chart by deploy/render.sh: put your own changes into an overlay (docs/guide/cronjob.md).
		apiVersion: kustomize.config.k8s.io/v1beta1
		kind: Kustomization
		namespace: dalsegno
		resources: [dalsegno.yaml]
	END
done
