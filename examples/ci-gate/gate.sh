#!/bin/sh
# usage: gate.sh DIRECTORY
#
# Judges the unwind tables of everything that a build has left in a directory: each
# program and library must have .sframe for nearly all of its code. What fails for a
# known reason is listed in allow.txt.
#
# The exit status is 0 if all is well, 1 if something fails, 2 if nothing was judged.
set -eu
here=$(dirname "$0")
exec sfcore sframe gate --require --min-coverage 90 --allow "$here/allow.txt" \
	--report sarif=sframe.sarif --report junit=sframe.xml "$1"
