// The extension starts sfcore's debug adapter. All else is in the adapter.
'use strict';
const vscode = require('vscode');
const fs = require('fs');
const path = require('path');

/** The adapter: the program of the setting, or the one in the extension. */
function adapter(context) {
	const program = vscode.workspace.getConfiguration('sfcore').get('path');
	if (program) {
		return program;
	}
	const bundled = context.asAbsolutePath(path.join('bin', process.platform === 'win32' ? 'sfcore.exe' : 'sfcore'));
	return fs.existsSync(bundled) ? bundled : 'sfcore';
}

/** Adds what the settings say to a configuration. */
function withSettings(config) {
	const settings = vscode.workspace.getConfiguration('sfcore');
	const sysroot = settings.get('sysroot'), paths = settings.get('paths');
	if (sysroot && !config.sysroot) {
		config.sysroot = sysroot;
	}
	if (paths && paths.length > 0) {
		config.paths = [...(config.paths || []), ...paths];
	}
	return config;
}

async function pickCore() {
	const picked = await vscode.window.showOpenDialog({ title: 'Open Core File', openLabel: 'Open', canSelectMany: false });
	return picked && picked[0];
}

/** Shows a core file; asks for one if none is given. */
async function openCore(uri) {
	uri = uri || await pickCore();
	if (uri) {
		const folder = vscode.workspace.getWorkspaceFolder(uri);
		await vscode.debug.startDebugging(folder, {
			type: 'sfcore', request: 'attach', name: path.basename(uri.fsPath), coreFile: uri.fsPath,
			paths: folder ? [folder.uri.fsPath] : [],
		});
	}
}

/** Lets the user choose among the processes of this machine. */
async function pickProcess() {
	const processes = [];
	for (const pid of fs.readdirSync('/proc').filter(name => /^\d+$/.test(name))) {
		try {
			const command = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
			if (command) {
				processes.push({ label: fs.readFileSync(`/proc/${pid}/comm`, 'utf8').trim(), description: pid, detail: command });
			}
		} catch {
			// It has ended.
		}
	}
	const picked = await vscode.window.showQuickPick(processes, { title: 'Look at Process', matchOnDescription: true, matchOnDetail: true });
	return picked && picked.description;
}

/** Shows core files that are opened from the explorer in the debugger. */
class CoreEditor {
	async openCustomDocument(uri) {
		return { uri, dispose() { } };
	}

	async resolveCustomEditor(document, panel) {
		panel.webview.html = '<p>This core file is shown in the debugger: see Run and Debug.</p>';
		await openCore(document.uri);
	}
}

exports.activate = context => {
	context.subscriptions.push(
		vscode.commands.registerCommand('sfcore.openCore', openCore),
		vscode.commands.registerCommand('sfcore.pickProcess', pickProcess),
		vscode.window.registerCustomEditorProvider('sfcore.core', new CoreEditor()),
		vscode.debug.registerDebugAdapterDescriptorFactory('sfcore', {
			createDebugAdapterDescriptor: () => new vscode.DebugAdapterExecutable(adapter(context), ['dap']),
		}),
		vscode.debug.registerDebugConfigurationProvider('sfcore', {
			async resolveDebugConfiguration(folder, config) {
				if (config.type) {
					return withSettings(config);
				}
				const core = await pickCore(); // started without a configuration
				return core && withSettings({ type: 'sfcore', request: 'attach', name: 'Open core file', coreFile: core.fsPath });
			},
		}),
	);
};
