#!/bin/sh
# Installs the program `stagger` of a release:
#
#   curl -fsSL https://github.com/stagger-rs/stagger/releases/latest/download/install.sh | sh
#   sh install.sh --version 0.1.0 --prefix "$HOME/.local"
#
# It takes the archive for this machine, compares its SHA-256 with the one that the release names, and puts the program
# into PREFIX/bin. Nothing is written there unless all of that went well.
set -eu

releases=${STAGGER_RELEASES:-https://github.com/stagger-rs/stagger/releases}
version=
prefix=${HOME:-}/.local
folder=

fail() {
    echo "install.sh: $*" >&2
    exit 1
}

main() {
    while [ $# -gt 0 ]; do
        case $1 in
        --version) version=${2:?install.sh: --version needs a version} && shift 2 ;;
        --prefix) prefix=${2:?install.sh: --prefix needs a folder} && shift 2 ;;
        --help) sed -n '2,8s/^# \{0,1\}//p' "$0" && exit ;;
        *) fail "unknown option $1: --version VERSION and --prefix FOLDER are known" ;;
        esac
    done
    platform=$(platform)
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    if [ -z "$version" ]; then
        fetch "$releases/latest/download/VERSION" "$folder/VERSION"
        version=$(cat "$folder/VERSION")
    fi
    version=${version#v}
    case $version in *[!0-9A-Za-z.+-]* | '') fail "not a version: $version" ;; esac
    name=stagger-$version-$platform
    fetch "$releases/download/v$version/$name.tar.gz" "$folder/$name.tar.gz"
    fetch "$releases/download/v$version/$name.tar.gz.sha256" "$folder/sha256"
    expected=$(cut -d ' ' -f 1 "$folder/sha256")
    actual=$(checksum "$folder/$name.tar.gz")
    if [ "$expected" != "$actual" ]; then
        fail "$name.tar.gz has the SHA-256 $actual, and the release says $expected: nothing was installed"
    fi
    tar -xzf "$folder/$name.tar.gz" -C "$folder"
    # Runs it first: a program for another system is not put in place.
    shown=$("$folder/$name/stagger" --version) || fail "$name does not run on this machine: nothing was installed"
    mkdir -p "$prefix/bin"
    cp "$folder/$name/stagger" "$prefix/bin/.stagger.part"
    chmod 755 "$prefix/bin/.stagger.part"
    mv "$prefix/bin/.stagger.part" "$prefix/bin/stagger"
    echo "installed $shown as $prefix/bin/stagger"
    case :$PATH: in
    *":$prefix/bin:"*) ;;
    *) echo "$prefix/bin is not on the path" ;;
    esac
}

# The platform in the name of an archive. The programs for Linux need no library of the system.
platform() {
    case $(uname -m) in
    x86_64 | amd64) machine=x86_64 ;;
    aarch64 | arm64) machine=aarch64 ;;
    *) fail "no program for $(uname -m): cargo install stagger-cli builds one" ;;
    esac
    case $(uname -s) in
    Linux) echo "$machine-unknown-linux-musl" ;;
    Darwin) echo "$machine-apple-darwin" ;;
    *) fail "no program for $(uname -s): the library builds there, the program is for Linux and macOS" ;;
    esac
}

fetch() {
    if command -v curl >/dev/null; then
        curl -fsSL --retry 3 -o "$2" "$1" || fail "cannot be fetched: $1"
    elif command -v wget >/dev/null; then
        wget -q -O "$2" "$1" || fail "cannot be fetched: $1"
    else
        fail 'curl or wget is needed'
    fi
}

checksum() {
    if command -v sha256sum >/dev/null; then
        sha256sum "$1" | cut -d ' ' -f 1
    else
        shasum -a 256 "$1" | cut -d ' ' -f 1
    fi
}

main "$@"
