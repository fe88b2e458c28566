// Drives VS Code as a user would, and checks what it shows.
'use strict';
const assert = require('node:assert');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { spawn, execFileSync } = require('node:child_process');
const puppeteer = require('puppeteer-core');

const { CODE_SERVER, CHROMIUM, VSIX, CORES, IMAGES } = process.env;
const timeout = 60000;
const name = 'amd64-v3-threads';

/** Makes a workspace with a core file, its program and its sources. */
function workspace(dir) {
	fs.cpSync(path.join(CORES, name, 'exe'), path.join(dir, 'build'), { recursive: true });
	fs.cpSync(path.join(CORES, name, 'src'), path.join(dir, 'src'), { recursive: true });
	fs.copyFileSync(path.join(CORES, name, 'core.zst'), path.join(dir, 'core.zst'));
	fs.mkdirSync(path.join(dir, '.vscode'));
	fs.writeFileSync(path.join(dir, '.vscode/launch.json'), JSON.stringify({
		version: '0.2.0',
		configurations: [{
			type: 'sfcore', request: 'attach', name: 'Open core file',
			coreFile: '${workspaceFolder}/core.zst', paths: ['${workspaceFolder}/build'],
			sourceMap: { '/srv/corpus/src': '${workspaceFolder}/src' },
		}],
	}));
}

const freePort = () => new Promise(resolve => {
	const server = net.createServer().listen(0, '127.0.0.1', () => {
		const { port } = server.address();
		server.close(() => resolve(port));
	});
});

async function startServer(dir) {
	const places = ['--user-data-dir', path.join(dir, 'data'), '--extensions-dir', path.join(dir, 'extensions')];
	fs.mkdirSync(path.join(dir, 'data/User'), { recursive: true });
	fs.writeFileSync(path.join(dir, 'data/User/settings.json'), JSON.stringify({
		'workbench.startupEditor': 'none', 'workbench.tips.enabled': false, 'debug.openDebug': 'openOnDebugBreak',
		'debug.internalConsoleOptions': 'openOnSessionStart', 'editor.minimap.enabled': false, 'window.commandCenter': false,
		'security.workspace.trust.enabled': false, 'extensions.ignoreRecommendations': true,
	}));
	execFileSync(process.execPath, [CODE_SERVER, ...places, '--install-extension', VSIX], { stdio: 'inherit' });
	const port = await freePort();
	const server = spawn(process.execPath, [CODE_SERVER, ...places, '--auth', 'none', '--bind-addr', `127.0.0.1:${port}`,
		'--disable-workspace-trust', '--disable-update-check', '--disable-telemetry'], { stdio: ['ignore', 'ignore', 'inherit'] });
	return { server, url: `http://127.0.0.1:${port}/?folder=${path.join(dir, 'work')}` };
}

/** Waits until an element's text matches, and returns the text. */
async function see(page, selector, pattern) {
	await page.waitForFunction((selector, source) =>
		[...document.querySelectorAll(selector)].some(e => new RegExp(source).test(e.textContent.replaceAll('\u00a0', ' '))),
	{ timeout }, selector, pattern.source).catch(async error => {
		const texts = await page.$$eval(selector, list => list.map(e => e.textContent));
		throw new Error(`${selector} does not show ${pattern}: ${JSON.stringify(texts)}: ${error.message}`);
	});
}

/** Clicks the first element whose text matches. */
async function click(page, selector, pattern, options = {}) {
	await see(page, selector, pattern);
	for (const element of await page.$$(selector)) {
		if (pattern.test((await element.evaluate(e => e.textContent)).replaceAll('\u00a0', ' '))) {
			return element.click(options);
		}
	}
}

/** Runs a command by its title. */
async function command(page, title) {
	await page.keyboard.press('F1');
	await page.waitForSelector('.quick-input-widget input', { visible: true, timeout });
	await page.keyboard.type(title);
	await see(page, '.quick-input-list .monaco-list-row', new RegExp(title));
	await page.keyboard.press('Enter');
}

const picture = (page, file) => page.screenshot({ path: path.join(IMAGES, file) });

async function main() {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sfcore-vscode-'));
	let server, browser;
	try {
		fs.mkdirSync(path.join(dir, 'work'));
		fs.mkdirSync(IMAGES, { recursive: true });
		workspace(path.join(dir, 'work'));
		let url;
		({ server, url } = await startServer(dir));
		browser = await puppeteer.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--force-color-profile=srgb'] });
		const page = await browser.newPage();
		await page.setViewport({ width: 1280, height: 960 });
		for (let tries = 0; ; tries++) {
			try {
				await page.goto(url);
				break;
			} catch (error) {
				if (tries === 50) {
					throw error;
				}
				await new Promise(resolve => setTimeout(resolve, 200));
			}
		}
		await page.waitForSelector('.monaco-workbench .part.sidebar', { timeout });
		await see(page, '.explorer-folders-view .monaco-list-row', /core\.zst/);
		await command(page, 'View: Show Run and Debug');
		await see(page, '.start-debug-action-item', /Open core file/);
		// It is some time before VS Code knows what its extensions can debug.
		for (let tries = 0; !await page.$('.debug-toolbar'); tries++) {
			assert.ok(tries < 10, 'debugging does not start');
			await page.click('.start-debug-action-item .codicon-debug-start').catch(() => { }); // it may just be redrawn
			await page.waitForSelector('.debug-toolbar', { timeout: 3000 }).catch(() => { });
		}

		// The crashing thread is selected; its stack is there to the end.
		await see(page, '.debug-call-stack .stack-frame', /^boom/);
		await see(page, '.debug-call-stack .stack-frame', /thread_entry/);
		await see(page, '.debug-call-stack', /end of the stack/);
		await see(page, '.debug-call-stack', /SIGSEGV/);
		await see(page, '.tab', /fs\.h/);
		await see(page, '.view-lines', /void boom\(void\)/);
		await see(page, '.exception-widget', /through a pointer that is 0x8/);

		// Lists are only as long as there is room.
		await click(page, '.pane-header', /^Watch/);

		// Variables and registers of the frame, then of its caller.
		await see(page, '.debug-variables .monaco-list-row', /^p.*0x8/);
		await click(page, '.debug-variables .monaco-list-row', /^Registers/);
		await click(page, '.debug-variables .monaco-list-row', /^general/);
		await see(page, '.debug-variables .monaco-list-row', /^rip.*0x4011a5 <boom\+5>/);
		await picture(page, 'vscode-registers.png');
		await click(page, '.debug-call-stack .stack-frame', /^crash_leaf/);
		await see(page, '.debug-variables .monaco-list-row', /^rip.*0x4012c2 <crash_leaf\+/);
		await see(page, '.debug-variables .monaco-list-row', /^rax.*not recovered/);
		await see(page, '.debug-variables .monaco-list-row', /^n.*99/);
		await click(page, '.debug-variables .monaco-list-row', /^q/);
		await see(page, '.debug-variables .monaco-list-row', /^\[3\].*99/);

		await see(page, '.tab', /threads\.c/);
		await picture(page, 'vscode-variables.png');
		await command(page, 'Open Disassembly View');
		await see(page, '.disassembly-view .monaco-list-row, .disassembly-view .monaco-table-tr', /4012c2/);
		await picture(page, 'vscode-disassembly.png');

		await command(page, 'sfcore: Show Memory');
		await page.waitForSelector('.quick-input-widget input', { visible: true, timeout });
		await page.keyboard.press('Enter');
		await see(page, '.view-lines', /0000[0-9a-f]{12} +([0-9a-f]{2} ){16}/);

		// The debug console.
		await click(page, '.repl-input-wrapper .view-lines', /^/);
		await page.keyboard.type('bt');
		await page.keyboard.press('Enter');
		await see(page, '.repl .monaco-list-row', /crash_leaf\+.*\(threads\)/s);
		await picture(page, 'vscode-console.png');
		assert.deepEqual(await page.$$eval('.notification-toast .notification-list-item-message', list => list.map(e => e.textContent)), []);
	} catch (error) {
		if (browser) {
			const [page] = (await browser.pages()).slice(-1);
			await page.screenshot({ path: path.join(os.tmpdir(), 'sfcore-vscode-failed.png') });
		}
		throw error;
	} finally {
		await browser?.close();
		server?.kill();
		fs.rmSync(dir, { recursive: true, force: true });
	}
}

main().catch(error => {
	console.error(error);
	process.exit(1);
});
