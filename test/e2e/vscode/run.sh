#!/usr/bin/env bash
# Opens core files in a real VS Code: code-server in a headless Chromium, with
# the packaged extension, bin/sfcore.vsix. Pictures go to docs/images.
#
# code-server is installed below SFCORE_VSCODE and stays there. 4.100.3 is the
# last version for node 20. Its own postinstall script downloads programs that
# are not needed here, so the parts that need compiling are rebuilt one by one.
set -euo pipefail
cd "$(dirname "$0")"
dir=${SFCORE_VSCODE:-${XDG_CACHE_HOME:-$HOME/.cache}/sfcore-e2e-vscode}
root=$(cd ../../.. && pwd)

mkdir -p "$dir"
if [[ ! -f $dir/ready ]]; then
	cp package.json package-lock.json .npmrc "$dir"
	(
		cd "$dir"
		npm ci --no-audit --no-fund --ignore-scripts
		cd node_modules/code-server/lib/vscode
		npm install --no-audit --no-fund --ignore-scripts --omit=dev
		export npm_config_yes=true # node-pty's script calls npx
		npm rebuild node-pty @vscode/spdlog native-watchdog kerberos
		cd "$dir"
		npm rebuild argon2 --build-from-source
		touch ready
	)
fi
NODE_PATH=$dir/node_modules CODE_SERVER=$dir/node_modules/code-server/out/node/entry.js \
	CHROMIUM=${CHROMIUM:-$(command -v chromium)} VSIX=$root/bin/sfcore.vsix CORES=$root/testdata/cores IMAGES=$root/docs/images \
	node drive.js
