# Sourced by the checks that need more than Node. On a person's machine a check whose tools are missing is left out, and says so. With CI
# set it fails, because a check that did not run must not look like one that passed.
missing() {
  echo "not run: $1"
  if [[ -n ${CI:-} ]]; then exit 1; fi
}
