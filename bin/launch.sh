# Sourced by the commands that start Java. `java` is the Java command, `flags_dir` contains *.jvm.

# launch JAR [ARGUMENT...]: replaces this process by the sluice command in JAR.
launch() {
  local jar="$1" flags=()
  shift
  require_java
  java_flags "$jar" "${1:-}"
  # shellcheck disable=SC2086 # several words are several flags
  exec "$java" "${flags[@]}" ${SLUICE_JAVA_FLAGS:-} -jar "$jar" "$@"
}

# require_java: exits with an error message without Java, or with an old one.
require_java() {
  local version
  if ! command -v "$java" >/dev/null; then
    echo "Java 17 or newer is needed, and there is no '$java': install a JDK, or set JAVA_HOME" >&2
    exit 1
  fi
  version="$(java_version)"
  if ((version > 0 && version < 17)); then
    echo "Java 17 or newer is needed, and '$java' is $version: install another JDK, or set JAVA_HOME" >&2
    exit 1
  fi
}

# java_flags JAR COMMAND: adds to `flags`.
java_flags() {
  local archive
  case "$2" in
    serve | demo | simulate)
      archive="${1%.jar}.jsa"
      flags+=("@$flags_dir/serve.jvm")
      ;;
    *)
      archive="${1%.jar}-command.jsa"
      flags+=("@$flags_dir/command.jvm")
      ;;
  esac
  if [[ -f "$archive" ]]; then
    # Without these flags Java warns if the archive is of another version, and continues without it.
    flags+=("-XX:SharedArchiveFile=$archive" -Xlog:disable "-Xlog:all=warning,cds*=off:stderr")
  fi
  # gRPC's Netty accesses memory in a way that newer versions of Java warn about.
  if (($(java_version) >= 24)); then
    flags+=(--sun-misc-unsafe-memory-access=allow)
  fi
}

# java_version: prints the major version of `java`, from its release file; 0 without one.
java_version() {
  local home release version=0
  home="$(dirname "$(dirname "$(readlink -f "$(command -v "$java")")")")"
  release="$home/release"
  if [[ -f "$release" ]]; then
    version="$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$release")"
  fi
  echo "${version:-0}"
}

# archive JAR: archives the classes that a start of the server loads, and those that a client command
# loads, so that later starts are faster.
archive() {
  local jar folder pid address
  jar="$(readlink -f "$1")"
  folder="$(mktemp -d)"
  touch "$folder/out"
  # Runs in that folder, which has no configuration file.
  cd "$folder" && exec "$java" "-XX:ArchiveClassesAtExit=${jar%.jar}.jsa" -Xlog:disable \
    "@$flags_dir/serve.jvm" -jar "$jar" serve --data "$folder/data" --grpc-port 0 --http-port 0 \
    >"$folder/out" 2>"$folder/err" </dev/null &
  pid=$!
  for _ in {1..200}; do
    if grep -q ready "$folder/out" || ! kill -0 "$pid" 2>/dev/null; then break; fi
    sleep 0.1
  done
  address="$(sed -n 's/.*gRPC on \([^ ,]*\).*/\1/p' "$folder/out")"
  if [[ -n "$address" ]]; then
    "$java" "-XX:ArchiveClassesAtExit=${jar%.jar}-command.jsa" -Xlog:disable \
      "@$flags_dir/command.jvm" -jar "$jar" queue list --server "$address" \
      >/dev/null 2>&1 </dev/null || true
  fi
  kill "$pid" 2>/dev/null || true
  wait "$pid" || true
  rm -rf "$folder"
}
