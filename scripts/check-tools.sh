#!/bin/sh
# Prints for each missing tool how to get it. The arguments are the tools to look for; linux-x86_64 stands for the machine.
set -u
missing=0

need() {
    command -v "$1" >/dev/null 2>&1 && return
    echo "error: \`$1\` is missing: $2." >&2
    missing=1
}

for tool in "$@"; do
    case $tool in
        linux-x86_64)
            [ "$(uname -sm)" = "Linux x86_64" ] || {
                echo "error: this machine is $(uname -sm): the local chain and the contracts' compiler come as packages for Linux on x86-64 alone. Use such a machine, or a virtual one." >&2
                missing=1
            }
            ;;
        cargo) need cargo "install Rust with rustup, which then takes the version of rust-toolchain.toml" ;;
        cc) need cc "install a C compiler, on Debian with \`apt-get install build-essential\`" ;;
        node) need node "install Node.js 20 or later, on Debian with \`apt-get install nodejs\`" ;;
        python3) need python3 "install Python 3, on Debian with \`apt-get install python3\`" ;;
        nginx) [ -x /usr/sbin/nginx ] || need nginx "install it, on Debian with \`apt-get install nginx-light\`" ;;
        redis-server) need redis-server "install it, on Debian with \`apt-get install redis-server\`" ;;
        curl) need curl "install it, on Debian with \`apt-get install curl\`" ;;
        jq) need jq "install it, on Debian with \`apt-get install jq\`" ;;
        npm) need npm "install npm, on Debian with \`apt-get install npm\`" ;;
        chromium)
            [ -n "${CHROMIUM:-}" ] || command -v chromium-browser >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1 ||
                need chromium "install it, on Debian with \`apt-get install chromium\`, or name another one in CHROMIUM"
            ;;
        *) need "$tool" "install it" ;;
    esac
done

if command -v node >/dev/null 2>&1; then
    major=$(node -p 'process.versions.node.split(".")[0]')
    if [ "$major" -lt 20 ]; then
        echo "error: node $major is too old: install Node.js 20 or later." >&2
        missing=1
    fi
fi
exit $missing
