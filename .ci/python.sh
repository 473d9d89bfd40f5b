# Sourced by the checks that need packages of Python.
# python_with NAME PACKAGE…: makes a virtual environment with these packages, unless .ci/cache has it, and sets `venv` to its folder.
python_with() {
  local stamp
  venv=$PWD/.ci/cache/$1
  shift
  stamp="$(python3 --version) $*"
  if [[ -f $venv/.installed && $(<"$venv/.installed") == "$stamp" ]]; then return; fi
  rm -rf "$venv"
  # What is not imported needs no compilation.
  python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --no-compile --disable-pip-version-check "$@" && echo "$stamp" >"$venv/.installed"
}
