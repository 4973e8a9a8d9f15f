#!/bin/sh
# Checks the packaging with the tools that are installed; reports skipped checks.
set -eu
cd "$(dirname "$0")"
if command -v promtool >/dev/null; then
    promtool check config prometheus/prometheus.yml >/dev/null
    promtool check rules prometheus/alerts.yml >/dev/null
    promtool test rules prometheus/alerts_test.yml >/dev/null
    echo "alerts: checked and tested"
else
    echo "alerts: not checked, promtool is not installed (Debian: prometheus)"
fi
python3 -m json.tool grafana/braid.json >/dev/null
for script in debian/build.sh debian/postinst debian/prerm debian/postrm check.sh; do sh -n "$script"; done
if command -v systemd-analyze >/dev/null; then
    # the unit's binary need not be installed
    if systemd-analyze verify --man=no ./braid.service 2>&1 | grep -v 'not executable'; then exit 1; fi
    echo "unit: verified"
else
    echo "unit: not verified, systemd-analyze is not installed"
fi
if docker compose version >/dev/null 2>&1; then
    for file in compose.yaml compose.many.yaml; do BRAID_RPC_URL=http://node docker compose -f "$file" config --quiet; done
    echo "compose files: checked"
else
    echo "compose files: not checked, docker compose is not installed"
fi
if nginx=$(PATH="$PATH:/usr/sbin" command -v nginx); then
    dir=$(mktemp -d)
    # replace the container names
    sed 's/server [a-z]*:8080;/server 127.0.0.1:8080;/' nginx.conf >"$dir/braid.conf"
    echo "pid $dir/pid; error_log stderr; events {} http { include $dir/braid.conf; }" >"$dir/nginx.conf"
    "$nginx" -t -q -c "$dir/nginx.conf"
    rm -r "$dir"
    echo "nginx: checked"
else
    echo "nginx: not checked, it is not installed"
fi
if docker info >/dev/null 2>&1; then
    docker build --check -f Dockerfile .. >/dev/null
    echo "image: checked"
else
    echo "image: not checked, there is no docker to build it"
fi
if command -v helm >/dev/null; then
    many="--set nodes.secret=n,redis.secret=r,apiKeys.secret=k,nodes.replicas=2,followers.replicas=2,serviceMonitor.enabled=true"
    helm lint --quiet helm/braid --set nodes.secret=n
    helm lint --quiet helm/braid $many
    if helm template braid helm/braid >/dev/null 2>&1; then echo "chart: a service without a node is not refused"; exit 1; fi
    echo "chart: linted"
else
    echo "chart: not linted, helm is not installed"
fi
