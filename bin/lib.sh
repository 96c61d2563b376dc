# Shared by the scripts at the root, which set `root` and source this file.

unset CDPATH # with it, cd prints where it went

# The JVM that mvnw also uses.
java="${JAVA_HOME:+$JAVA_HOME/bin/}java"

flags_dir="$root/bin"
source "$root/bin/launch.sh"

# build_if_stale MODULE: packages MODULE and the modules it needs, unless nothing has changed since the
# last build. Prints to stderr only. The stamp has the start time of the build, so that files edited
# meanwhile are newer. Folders count too, because their time changes when a file is deleted.
build_if_stale() {
  local module="$1" target="$root/$1/target"
  local stamp="$target/.built"
  if ! mkdir -p "$target" 2>/dev/null || [[ ! -w "$target" ]]; then
    # The clone of another user can be used but not built.
    if is_built "$module"; then return; fi
    echo "$module must be built, and nothing can be written in $target: let its owner build it, or make a clone of your own" >&2
    exit 1
  fi
  (
    # Two commands started at once: the second waits for the first one's build.
    if command -v flock >/dev/null; then flock 9; fi
    if is_built "$module"; then exit 0; fi
    require_java
    echo "building $module ..." >&2
    touch "$stamp.new"
    (cd "$root" && ./mvnw -B -ntp -q package -pl "$module" -am \
      -Dmaven.test.skip -Dmaven.source.skip -Dverification.skip) >&2 9>&-
    after_build "$module" >&2 9>&-
    mv "$stamp.new" "$stamp"
  ) 9>"$target/.lock"
}

# is_built MODULE: whether it is packaged, and nothing changed since.
is_built() {
  local target="$root/$1/target"
  [[ -f "$target/$1.jar" && -f "$target/.built" ]] && ! changed_since "$target/.built"
}

# mark_built MODULE COMMAND...: runs a command that packages MODULE and the modules it needs, instead
# of `build_if_stale`.
mark_built() {
  local target="$root/$1/target"
  local stamp="$target/.built"
  mkdir -p "$target"
  touch "$stamp.new"
  "${@:2}"
  if [[ -f "$target/$1.jar" ]]; then
    mv "$stamp.new" "$stamp"
  fi
}

# after_build MODULE: prepares faster starts.
after_build() {
  if [[ "$1" == sluice-cli ]]; then
    archive "$root/sluice-cli/target/sluice-cli.jar"
  fi
}

# changed_since FILE: whether a POM or a main source of any module is newer.
changed_since() {
  local changed
  changed="$(find "$root"/pom.xml "$root"/*/pom.xml "$root"/*/src/main -newer "$1" -print)"
  [[ -n "$changed" ]]
}

# is_installed PACKAGE[:COMMAND...]: whether one of the commands is on the PATH, or apt installed the package.
is_installed() {
  local package command commands
  IFS=: read -ra commands <<<"$1"
  package="${commands[0]}"
  for command in "${commands[@]:1}"; do
    if command -v "$command" >/dev/null; then return 0; fi
  done
  # dpkg still knows a removed package by its configuration.
  [[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" == installed ]]
}

# install_if_absent PACKAGE[:COMMAND...]...: installs packages with apt, as root or with sudo. If neither is
# possible, prints the command and exits with 2. Prints to stderr only.
install_if_absent() {
  local each missing=() as_root=()
  for each in "$@"; do
    is_installed "$each" || missing+=("${each%%:*}")
  done
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    if ! may_sudo; then
      echo "these packages are missing, and only root can install them: apt-get install ${missing[*]}" >&2
      exit 2
    fi
    as_root=(sudo)
  fi
  echo "installing ${missing[*]} ..." >&2
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive sh -c '
    apt-get install -qq -y --no-install-recommends "$@" || {
      apt-get update -qq && apt-get install -qq -y --no-install-recommends "$@"
    }' sh "${missing[@]}" >&2
}

# may_sudo: whether sudo exists, and needs no password or can ask for it.
may_sudo() {
  command -v sudo >/dev/null && { [[ -t 0 ]] || sudo -n true 2>/dev/null; }
}
