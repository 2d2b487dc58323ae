#!/bin/sh
# Installs `whet` on Linux without a Rust toolchain.
#
#   sh install.sh --from FOLDER    from a folder that has the archive and its .sha256
#   sh install.sh --from URL       from a server that has both
#
# The checksum guards against a damaged download. It comes from the same place as the archive, so it does not
# guard against a server that lies. `cargo xtask dist` fills in the names between @.
set -eu

version='@VERSION@'
arch='@ARCH@'
glibc='@GLIBC@'
folder="whet-$version-$arch-linux"
archive="$folder.tar.gz"

usage() {
    cat <<END
Usage: sh install.sh --from FOLDER|URL [--prefix DIR]

Installs whet $version into DIR/bin, by default ~/.local/bin.

  --from FOLDER|URL  where $archive and its .sha256 are [WHET_FROM]
  --prefix DIR       where to install [WHET_PREFIX]
END
}

# $1: what is wrong. $2: what to do about it. $3: the exit code, 3 by default.
fail() {
    printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
    exit "${3:-3}"
}

warn() {
    printf 'warning: %s\nhint: %s\n' "$1" "$2" >&2
}

has() {
    command -v "$1" >/dev/null 2>&1
}

# $1: what an option is called. $2: how many words are left of it.
needs_value() {
    [ "$2" -ge 2 ] || fail "$1 needs a value" 'see sh install.sh --help' 2
}

check_system() {
    system=$(uname -s)
    [ "$system" = Linux ] ||
        fail "whet runs on Linux, and this is $system" 'use a Linux machine, a virtual machine or a container'
    machine=$(uname -m)
    [ "$machine" = "$arch" ] ||
        fail "this archive is for $arch, and this machine is $machine" \
            'build from source: cargo install --locked --path crates/cli'
}

# The version of glibc as "2.36", or nothing where there is no glibc.
found_glibc() {
    if has getconf; then
        getconf GNU_LIBC_VERSION 2>/dev/null | sed -n 's/^glibc //p'
    elif has ldd; then
        ldd --version 2>&1 | sed -n '1s/.* \([0-9][0-9]*\.[0-9][0-9]*\)$/\1/p'
    fi
}

check_glibc() {
    found=$(found_glibc)
    [ -n "$found" ] ||
        fail "whet needs glibc $glibc or newer, and this system has another C library" \
            'use a distribution with glibc, such as Debian, Ubuntu, Fedora or RHEL'
    oldest=$(printf '%s\n%s\n' "$glibc" "$found" | sort -t . -k 1,1n -k 2,2n | head -n 1)
    [ "$oldest" = "$glibc" ] ||
        fail "whet needs glibc $glibc or newer, and this system has $found" \
            'use a newer distribution or a container, or build from source: cargo install --locked --path crates/cli'
}

# Python is needed by the judge and not by this script: without it the installation goes through.
check_python() {
    if ! has python3; then
        warn 'there is no python3, and whet judges Python programs with it' 'apt-get install python3, or dnf install python3'
    elif ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
        warn 'python3 is older than 3.9' 'install a newer one and name it: whet doctor --set sandbox.python=PATH'
    fi
}

# $1: the file name. Leaves it in the working folder.
fetch() {
    case $from in
    http://* | https://*)
        if has curl; then
            curl --fail --location --silent --show-error --output "$work/$1" "$from/$1" ||
                fail "cannot download $from/$1" 'check the address and the network, or download both files and pass their folder to --from'
        elif has wget; then
            wget --quiet --output-document="$work/$1" "$from/$1" ||
                fail "cannot download $from/$1" 'check the address and the network, or download both files and pass their folder to --from'
        else
            fail 'there is neither curl nor wget' 'install one, or download both files and pass their folder to --from'
        fi
        ;;
    *)
        [ -f "$from/$1" ] ||
            fail "$from/$1 is not there" "pass the folder that has $archive and $archive.sha256 to --from"
        cp "$from/$1" "$work/$1" 2>/dev/null ||
            fail "cannot copy $from/$1 to $work" 'check the permissions and the free space, or set TMPDIR to another folder'
        ;;
    esac
}

check_sum() {
    has sha256sum || fail 'there is no sha256sum to check the archive with' 'install coreutils'
    (cd "$work" && sha256sum --check --status "$archive.sha256" 2>/dev/null) ||
        fail "$archive does not match its checksum" 'download both files again: one is damaged or of another version'
}

# The new program takes the place of the old one at once: a running one is not disturbed, and an
# interruption leaves the old one.
install_files() {
    mkdir -p "$prefix/bin" 2>/dev/null ||
        fail "cannot make the folder $prefix/bin" 'pass a folder that you may write to: --prefix DIR'
    new="$prefix/bin/.whet.$$"
    if ! { cp "$work/$folder/whet" "$new" && chmod 755 "$new" && mv "$new" "$prefix/bin/whet"; } 2>/dev/null; then
        rm -f "$new" 2>/dev/null || :
        fail "cannot write $prefix/bin/whet" 'pass a folder that you may write to, on a disk with 100 MB free: --prefix DIR'
    fi
    copy_pages completions/bash share/bash-completion/completions
    copy_pages completions/zsh share/zsh/site-functions
    copy_pages completions/fish share/fish/vendor_completions.d
    copy_pages man/man1 share/man/man1
}

# $1: a folder of the archive, which may not be there. $2: where its files belong.
copy_pages() {
    if [ -d "$work/$folder/$1" ]; then
        { mkdir -p "$prefix/$2" && cp "$work/$folder/$1/"* "$prefix/$2/"; } 2>/dev/null ||
            warn "cannot write to $prefix/$2" 'whet works without completions and manual pages'
    fi
}

main() {
    from=${WHET_FROM:-}
    prefix=${WHET_PREFIX:-}
    while [ $# -gt 0 ]; do
        case $1 in
        --from) needs_value "$1" $# && from=$2 && shift ;;
        --prefix) needs_value "$1" $# && prefix=$2 && shift ;;
        --help | -h) usage && exit 0 ;;
        *) fail "there is no option $1" 'see sh install.sh --help' 2 ;;
        esac
        shift
    done
    if [ -z "$prefix" ]; then
        [ -n "${HOME:-}" ] || fail 'HOME is not set' 'pass the folder to install into: --prefix DIR' 2
        prefix="$HOME/.local"
    fi
    [ -n "$from" ] || fail 'it is not known where the archive is' 'pass the folder or the address that has it: --from FOLDER|URL' 2
    from=${from%/}

    check_system
    check_glibc
    has tar || fail 'there is no tar to unpack the archive with' 'install tar'
    has gzip || fail 'there is no gzip to unpack the archive with' 'install gzip'
    work=$(mktemp -d 2>/dev/null) || fail "cannot make a folder in ${TMPDIR:-/tmp}" 'set TMPDIR to a folder that you may write to'
    trap 'rm -rf "$work"' EXIT
    trap 'exit 3' HUP INT TERM
    fetch "$archive.sha256"
    fetch "$archive"
    check_sum
    tar -xzf "$work/$archive" -C "$work" 2>/dev/null ||
        fail "cannot unpack $archive in $work" 'free 150 MB there, or set TMPDIR to another folder'
    "$work/$folder/whet" --version >/dev/null 2>&1 ||
        fail "whet does not start from $work" 'if programs must not be executed there, set TMPDIR to another folder'
    install_files
    check_python

    printf 'installed %s\n' "$("$prefix/bin/whet" -V) as $prefix/bin/whet" >&2
    case ":$PATH:" in
    *":$prefix/bin:"*) printf 'next: whet doctor\n' >&2 ;;
    *) printf "next: export PATH=\"%s:\$PATH\" && whet doctor\n" "$prefix/bin" >&2 ;;
    esac
}

main "$@"
