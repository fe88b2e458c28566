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

/** Adds what the settings say to a configuration, and the folders of the workspace, from which relative paths start. */
function withSettings(folder, config) {
	const settings = vscode.workspace.getConfiguration('sfcore');
	const sysroot = settings.get('sysroot'), paths = settings.get('paths');
	if (sysroot && !config.sysroot) {
		config.sysroot = sysroot;
	}
	if (paths && paths.length > 0) {
		config.paths = [...(config.paths || []), ...paths];
	}
	if (config.showMethods === undefined) {
		config.showMethods = settings.get('showMethods');
	}
	const folders = (vscode.workspace.workspaceFolders || []).map(({ uri }) => uri.fsPath);
	config.cwd = config.cwd || (folder ? folder.uri.fsPath : folders[0]);
	config.sourcePaths = config.sourcePaths || folders;
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
		const folder = vscode.workspace.getWorkspaceFolder(uri) || (vscode.workspace.workspaceFolders || [])[0];
		await vscode.debug.startDebugging(folder, {
			type: 'sfcore', request: 'attach', name: path.basename(uri.fsPath), coreFile: uri.fsPath,
			paths: folder ? [folder.uri.fsPath] : [],
		});
	}
}

/** Makes text of other processes safe to show: controls and invisible characters become escapes, as in the adapter. */
function visible(text) {
	return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu, c => `\\u{${c.codePointAt(0).toString(16)}}`);
}

/** Lets the user choose among the processes of this machine, sorted by name and then by id. */
async function pickProcess() {
	const processes = [];
	for (const pid of fs.readdirSync('/proc').filter(name => /^\d+$/.test(name) && name !== String(process.pid))) {
		try {
			const command = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
			const name = fs.readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
			if (command && !/^sfcore(-|$)/.test(name)) { // no kernel threads, and not the adapter
				processes.push({ label: visible(name), description: pid, detail: visible(command) });
			}
		} catch {
			// It has ended.
		}
	}
	processes.sort((a, b) => a.label.localeCompare(b.label) || a.description - b.description);
	const picked = await vscode.window.showQuickPick(processes, { title: 'Look at Process', placeHolder: 'Name, id or command line', matchOnDescription: true, matchOnDetail: true });
	return picked && picked.description;
}

/** Looks at a process that the user chooses. */
async function lookAtProcess() {
	const pid = await pickProcess();
	const folder = (vscode.workspace.workspaceFolders || [])[0];
	if (pid) {
		await vscode.debug.startDebugging(folder, { type: 'sfcore', request: 'attach', name: `Process ${pid}`, pid });
	}
}

const systemdCores = '/var/lib/systemd/coredump';

/** The crashes that systemd-coredump has kept with their cores, the newest first. The names are core.COMMAND.UID.BOOT.PID.TIME [coredump.c]. */
function systemdCrashes(directory) {
	const crashes = [];
	for (const file of fs.readdirSync(directory)) {
		const match = /^core\.(.*)\.(\d+)\.[0-9a-f]{32}\.(\d+)\.(\d+)(\.\w+)?$/.exec(file);
		if (match) {
			const command = match[1].replace(/\\x([0-9a-f]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
			crashes.push({ label: visible(command), pid: match[3], uid: match[2], time: Number(match[4]) / 1000, path: path.join(directory, file) });
		}
	}
	return crashes.sort((a, b) => b.time - a.time || b.pid - a.pid);
}

/** Opens the core of a crash that systemd-coredump has kept. */
async function openCrash() {
	let crashes = [];
	try {
		crashes = systemdCrashes(systemdCores);
	} catch (error) {
		if (error.code !== 'ENOENT') {
			vscode.window.showErrorMessage(`Open Crash: ${error.message}`);
			return;
		}
	}
	if (crashes.length === 0) {
		vscode.window.showInformationMessage(`Open Crash: systemd-coredump has kept no core in ${systemdCores}.`);
		return;
	}
	const items = crashes.map(crash => {
		let readable = '';
		try {
			fs.accessSync(crash.path, fs.constants.R_OK);
		} catch {
			readable = ', which you may not read';
		}
		return { label: crash.label, description: `process ${crash.pid} of user ${crash.uid}`, detail: new Date(crash.time).toLocaleString() + readable, path: crash.path };
	});
	const picked = await vscode.window.showQuickPick(items, { title: 'Open Crash', placeHolder: 'Program, process or time', matchOnDescription: true, matchOnDetail: true });
	if (picked) {
		await openCore(vscode.Uri.file(picked.path));
	}
}

const memoryShown = 1024; // bytes

/** Shows the memory that a variable or an expression points to. */
async function showMemory(argument) {
	const session = vscode.debug.activeDebugSession;
	if (!session) {
		return;
	}
	let reference = argument && argument.variable && argument.variable.memoryReference;
	if (!reference) {
		const expression = await vscode.window.showInputBox({ title: 'Show Memory', prompt: 'Address, register or expression', value: '$sp' });
		if (!expression) {
			return;
		}
		const frame = vscode.debug.activeStackItem;
		const { memoryReference } = await session.customRequest('evaluate', { expression, context: 'watch', frameId: frame && frame.frameId });
		reference = memoryReference;
		if (!reference) {
			vscode.window.showErrorMessage(`Show Memory: ${expression} is neither in memory nor an address in memory. Write &, as in &variable, to see where a variable is.`);
			return;
		}
	}
	const uri = vscode.Uri.from({ scheme: 'sfcore-memory', path: `/${session.name}/${reference}.hex`, query: session.id });
	await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), { preview: true });
}

/** Shows the stacks of all threads, those that are equal once. */
async function showStacks() {
	const session = vscode.debug.activeDebugSession;
	if (session) {
		const uri = vscode.Uri.from({ scheme: 'sfcore-stacks', path: `/Stacks of ${session.name}.txt`, query: session.id });
		stacks.changed.fire(uri); // a later snapshot has others
		await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), { preview: false });
	}
}

/** Documents about the sessions that are open. */
class SessionDocuments {
	constructor(write) {
		this.write = write;
		this.changed = new vscode.EventEmitter();
		this.onDidChange = this.changed.event;
	}

	provideTextDocumentContent(uri) {
		const session = sessions.get(uri.query);
		return session ? this.write(session, uri) : 'The session has ended.\n';
	}
}

const sessions = new Map();

/** The stacks of all threads, which come in pieces. */
const stacks = new SessionDocuments(async session => {
	let text = '', body = { next: 0 };
	do {
		body = await session.customRequest('allStacks', { group: true, from: body.next });
		text += body.text;
	} while (body.next);
	return `${body.threads} threads, ${body.stacks} different stacks\n\n${text}`;
});

/** Memory as hexdump -C writes it. */
const memory = new SessionDocuments(async (session, uri) => {
	const reference = path.posix.basename(uri.path, '.hex');
	const { address, data, unreadableBytes } = await session.customRequest('readMemory', { memoryReference: reference, count: memoryShown });
	const bytes = Buffer.from(data || '', 'base64');
	let text = '', at = BigInt(address);
	for (let i = 0; i < bytes.length; i += 16, at += 16n) {
		const row = bytes.subarray(i, i + 16);
		const hex = [...row].map(b => b.toString(16).padStart(2, '0')).join(' ').padEnd(47);
		const letters = [...row].map(b => b >= 0x20 && b < 0x7f ? String.fromCharCode(b) : '.').join('');
		text += `${at.toString(16).padStart(16, '0')}  ${hex}  |${letters}|\n`;
	}
	return unreadableBytes ? `${text}${at.toString(16).padStart(16, '0')}  not readable\n` : text;
});

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
		vscode.commands.registerCommand('sfcore.showMemory', showMemory),
		vscode.commands.registerCommand('sfcore.showStacks', showStacks),
		vscode.workspace.registerTextDocumentContentProvider('sfcore-memory', memory),
		vscode.workspace.registerTextDocumentContentProvider('sfcore-stacks', stacks),
		vscode.debug.onDidStartDebugSession(session => session.type === 'sfcore' && sessions.set(session.id, session)),
		vscode.debug.onDidTerminateDebugSession(session => sessions.delete(session.id)),
		vscode.commands.registerCommand('sfcore.openCore', openCore),
		vscode.commands.registerCommand('sfcore.openCoreFile', openCore),
		vscode.commands.registerCommand('sfcore.openCrash', openCrash),
		vscode.commands.registerCommand('sfcore.lookAtProcess', lookAtProcess),
		vscode.commands.registerCommand('sfcore.pickProcess', pickProcess),
		vscode.window.registerCustomEditorProvider('sfcore.core', new CoreEditor()),
		vscode.debug.registerDebugAdapterDescriptorFactory('sfcore', {
			createDebugAdapterDescriptor: () => new vscode.DebugAdapterExecutable(adapter(context), ['dap']),
		}),
		vscode.debug.registerDebugConfigurationProvider('sfcore', {
			async resolveDebugConfiguration(folder, config) {
				if (config.type) {
					return withSettings(folder, config);
				}
				const core = await pickCore(); // started without a configuration
				return core && withSettings(folder, { type: 'sfcore', request: 'attach', name: 'Open core file', coreFile: core.fsPath });
			},
		}),
	);
};
