# What test/packages/run does in the chroot.
set -euo pipefail
cd /in
export MANWIDTH=200

fail() {
	echo "FAILED: $*"
	exit 1
}
# here lists all files but those in which dpkg, man and the system keep their own state, and
# the caches of users.
here() {
	find / -xdev \( -path /proc -o -path "$HOME/.cache" -o -path /in -o -path /tmp -o -path /home/newcomer -o -path '/var/lib/dpkg*' -o -path '/var/cache*' -o -path '/var/log*' \) -prune -o -print | sort
}
# says runs a command and looks for a text in its output.
says() { # says TEXT COMMAND...
	local text=$1 out
	shift
	out=$("$@" 2>&1) || fail "$* exits with $?: $out"
	grep -qF -e "$text" <<<"$out" || fail "$* does not print \"$text\": $out"
	echo "ok: $*"
}

useradd --create-home newcomer
here >/tmp/before
dpkg -i sfcore.deb >/tmp/log 2>&1 || fail "dpkg -i: $(cat /tmp/log)"
version=$(sfcore --version | cut -d' ' -f3)

says "sfcore-plugin  $version" sfcore version
says "sfcore-fleet   $version" sfcore version
says "how each frame was found" man sfcore
says "live process" man sfcore-bt
says "newest first" man sfcore-crash-list
says "the queue, a worker and the page" man sfcore-fleet
# What help names is there to be read.
named=$(for command in "" bt crash dap plugin; do sfcore $command --help; done | grep -o 'docs/[A-Za-z/-]*\.md' | sort -u)
[[ -n $named ]] || fail "help names no document"
for document in $named; do
	[[ -e /usr/share/doc/sfcore/$document ]] || fail "help names $document, and the package does not have it"
done
cat >/tmp/complete <<'BASH'
. /usr/share/bash-completion/bash_completion
for line in "sfcore bt --forma" "sfcore sh" "sfcore crash li" "sfcore-fleet agent --que"; do
	read -ra COMP_WORDS <<<"$line"
	_completion_loader "${COMP_WORDS[0]}" 2>/dev/null || __load_completion "${COMP_WORDS[0]}"
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_LINE=$line COMP_POINT=${#line} COMP_TYPE=9 COMPREPLY=()
	"__start_${COMP_WORDS[0]}"
	echo "$line: ${COMPREPLY[*]}"
done
BASH
says "sfcore bt --forma: --format" bash /tmp/complete
says "sfcore sh: shrink" bash /tmp/complete
says "sfcore crash li: list" bash /tmp/complete
says "sfcore-fleet agent --que: --queue" bash /tmp/complete
says "the stack ends here" sfcore bt --path amd64-v3-threads/exe amd64-v3-threads/core.zst
says "main.main" sfcore goroutines amd64/core.zst amd64/exe/goroutines
says "List the crashes that were kept" sfcore crash --help
says "sfcore-fleet version $version" sfcore-fleet --version

# A newcomer who has the package and no clone types what the guide says, as a user who is
# not root.
INSTALLED=/usr/share/doc/sfcore setpriv --reuid newcomer --regid newcomer --clear-groups \
	env HOME=/home/newcomer /in/pages.test -test.run '^TestPages$' >/tmp/log 2>&1 || fail "the guide: $(cat /tmp/log)"
echo "ok: the commands of the guide"
refused=$(setpriv --reuid newcomer --regid newcomer --clear-groups sfcore crash install 2>&1) && fail "a user installs a crash handler"
[[ $refused == *"run this as root"* ]] || fail "sfcore crash install does not say what it needs: $refused"

request='{"seq":1,"type":"request","command":"initialize","arguments":{"adapterID":"sfcore"}}'
dap() { printf 'Content-Length: %d\r\n\r\n%s' ${#request} "$request" | timeout 20 sfcore dap; }
says '"supportsDisassembleRequest":true' dap

# The handler's files are those of the package, and nothing is started by itself.
[[ -e /usr/lib/systemd/system/sfcore-crash.socket ]] || fail "there is no unit"
for unit in sfcore-fleet sfcore-fleet-agent sfcore-fleet-worker; do
	grep -q '^ExecStart=/usr/bin/sfcore-fleet ' "/usr/lib/systemd/system/$unit.service" || fail "the unit $unit starts something else"
done
[[ -e /usr/lib/tmpfiles.d/sfcore-crash.conf ]] || fail "there is nothing for tmpfiles.d"
grep -q '^ExecStart=/usr/bin/sfcore-crash daemon$' /usr/lib/systemd/system/sfcore-crash.service || fail "the unit starts something else"
[[ ! -e /etc/sysctl.d/60-sfcore-crash.conf ]] || fail "the package changes the settings of the kernel"

dpkg-deb -R sfcore.deb next
sed -i 's/^Version: .*/Version: 99.0.0/' next/DEBIAN/control
dpkg-deb -Znone -b next next.deb >/dev/null
dpkg -i next.deb >/tmp/log 2>&1 || fail "the upgrade: $(cat /tmp/log)"
says "sfcore-plugin  $version" sfcore version # the same programs in it

mkdir -p /var/lib/sfcore/{crashes,fleet}/kept /var/lib/sfcore-fleet-worker/kept
dpkg -r sfcore >/tmp/log 2>&1 || fail "dpkg -r: $(cat /tmp/log)"
[[ -e /var/lib/sfcore/crashes/kept ]] || fail "dpkg -r removes crashes"
[[ -e /var/lib/sfcore/fleet/kept ]] || fail "dpkg -r removes what a fleet has sent"
dpkg -P sfcore >/tmp/log 2>&1 || fail "dpkg -P: $(cat /tmp/log)"
here >/tmp/after
diff /tmp/before /tmp/after || fail "this stays behind"
echo "ok: upgraded, removed, and nothing stays behind"
