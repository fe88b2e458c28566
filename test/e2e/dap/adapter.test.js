// Sessions with the client of VS Code's own adapters, for every request that
// sfcore answers, on a core of each architecture, over stdio and TCP.
'use strict';
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const { spawn } = require('node:child_process');
const { DebugClient } = require('@vscode/debugadapter-testsupport');

const sfcore = process.env.SFCORE; // set by dap_test.go
const cores = path.resolve(__dirname, '../../../testdata/cores');

const config = name => ({
	coreFile: path.join(cores, name, 'core.zst'),
	paths: [path.join(cores, name, 'exe')],
	sysroot: path.join(cores, name, 'sysroot'),
});

const expected = name => JSON.parse(fs.readFileSync(path.join(cores, name, 'expected.json'))).threads;

/** Starts sfcore as a server and returns it with its port. */
function listen() {
	const server = spawn(sfcore, ['dap', '--listen', '127.0.0.1:0'], { stdio: ['ignore', 'inherit', 'pipe'] });
	return new Promise((resolve, reject) => {
		server.on('error', reject);
		server.stderr.on('data', text => {
			const port = /listening on .*:(\d+)/.exec(text);
			if (port) {
				resolve({ server, port: Number(port[1]) });
			}
		});
	});
}

const refusal = promise => promise.then(() => assert.fail('it was not refused'), error => error.message);

for (const transport of ['stdio', 'tcp']) {
	describe(transport, function () {
		this.timeout(20000);
		let client, server, port;
		before(async () => {
			if (transport === 'tcp') {
				({ server, port } = await listen());
			}
		});
		after(() => server && server.kill());
		beforeEach(async () => {
			client = new DebugClient(sfcore, 'dap', 'sfcore'); // runs "sfcore dap"
			client.defaultTimeout = 10000;
			await client.start(port);
		});
		afterEach(() => client && client.stop());

		/** Opens a process and returns the stopped event's body. */
		async function open(configuration) {
			const stopped = client.waitForEvent('stopped');
			await Promise.all([
				client.initializeRequest({ adapterID: 'sfcore', linesStartAt1: true, columnsStartAt1: true, pathFormat: 'path', supportsProgressReporting: true }),
				client.waitForEvent('initialized').then(() => client.configurationDoneRequest()),
				client.attachRequest(configuration),
			]);
			return (await stopped).body;
		}

		/** Ends the session, after which nobody answers. */
		async function disconnect(args) {
			await client.disconnectRequest(args);
			client.stopAdapter();
			client = null;
		}

		async function variables(reference) {
			const { body } = await client.variablesRequest({ variablesReference: reference });
			return Object.fromEntries(body.variables.map(v => [v.name, v]));
		}

		it('shows arguments and local variables', async () => {
			const dir = path.resolve(__dirname, '../../../testdata/locals/s390x-O0');
			const { threadId } = await open({ coreFile: path.join(dir, 'core.zst'), program: path.join(dir, 'prog') });
			const { stackFrames } = (await client.stackTraceRequest({ threadId })).body;
			const frameId = stackFrames[1].id;
			const { scopes } = (await client.scopesRequest({ frameId })).body;
			assert.deepEqual(scopes.map(s => s.name), ['Arguments', 'Locals', 'Globals', 'Registers', 'Unwind']);
			const args = await variables(scopes[0].variablesReference);
			assert.equal(args.c.value, 'BLUE');
			const node = await variables(args.n.variablesReference);
			assert.equal((await variables(node['*n'].variablesReference)).wide_bits.value, '1099511627775');
			const { table } = await variables(scopes[1].variablesReference);
			assert.equal(table.indexedVariables, 6);
			const page = (await client.variablesRequest({ variablesReference: table.variablesReference, filter: 'indexed', start: 5, count: 9 })).body;
			assert.deepEqual(page.variables.map(v => [v.name, v.value]), [['[5]', '1']]);
			const { result } = (await client.evaluateRequest({ expression: 'third', frameId, context: 'hover' })).body;
			assert.equal(result, '0.5');
		});

		it('offers what it answers', async () => {
			const { body } = await client.initializeRequest({ adapterID: 'sfcore', pathFormat: 'path' });
			for (const name of ['supportsReadMemoryRequest', 'supportsDisassembleRequest', 'supportsModulesRequest', 'supportsExceptionInfoRequest',
				'supportsCompletionsRequest', 'supportsCancelRequest', 'supportsEvaluateForHovers', 'supportsLoadedSourcesRequest']) {
				assert.ok(body[name], name);
			}
			for (const name of ['supportsSetVariable', 'supportsWriteMemoryRequest', 'supportsStepBack', 'supportsTerminateRequest', 'supportsRestartRequest']) {
				assert.ok(!body[name], name);
			}
		});

		for (const name of ['amd64-v3-threads', 'aarch64-v3-threads', 's390x-v3-threads']) {
			describe(name, () => {
				it('shows every stack', async () => {
					const stopped = await open(config(name));
					assert.equal(stopped.reason, 'exception');
					const { threads } = (await client.threadsRequest()).body;
					const want = expected(name);
					assert.equal(threads.length, want.length);
					assert.equal(threads[0].id, stopped.threadId);
					assert.match(threads[0].name, /SIG/);
					for (const thread of want) {
						const { body } = await client.stackTraceRequest({ threadId: thread.tid });
						assert.equal(body.totalFrames, body.stackFrames.length);
						assert.equal(body.stackFrames.at(-1).presentationHint, 'label');
						const physical = body.stackFrames.slice(0, -1).filter(f => !f.name.endsWith('[inlined]'));
						assert.deepEqual(physical.map(f => f.instructionPointerReference), thread.frames.map(f => f.pc));
						const page = (await client.stackTraceRequest({ threadId: thread.tid, startFrame: 1, levels: 2 })).body;
						assert.deepEqual(page.stackFrames, body.stackFrames.slice(1, 3));
						assert.equal(page.totalFrames, body.totalFrames);
					}
				});

				it('shows registers, memory, code, modules and the signal', async () => {
					const { threadId } = await open(config(name));
					const { stackFrames } = (await client.stackTraceRequest({ threadId })).body;
					const { scopes } = (await client.scopesRequest({ frameId: stackFrames[0].id })).body;
					const groups = await variables(scopes.find(s => s.name === 'Registers').variablesReference);
					const general = await variables(groups.general.variablesReference);
					const pc = stackFrames[0].instructionPointerReference;
					assert.ok((general.rip || general.pc).value.startsWith(pc));
					assert.ok(Object.keys(await variables(groups.flags.variablesReference)).length > 1);
					const unwind = await variables(scopes.find(s => s.name === 'Unwind').variablesReference);
					assert.equal(unwind.method.value, 'registers');
					assert.equal(unwind.trust.value, 'full');

					const sp = (general.rsp || general.sp || general.r15).memoryReference;
					const memory = (await client.customRequest('readMemory', { memoryReference: sp, count: 32 })).body;
					assert.equal(Buffer.from(memory.data, 'base64').length, 32);
					const nothing = (await client.customRequest('readMemory', { memoryReference: '0x0', count: 32 })).body;
					assert.equal(nothing.unreadableBytes, 32);

					const { instructions } = (await client.customRequest('disassemble', {
						memoryReference: pc, instructionOffset: -4, instructionCount: 12, resolveSymbols: true,
					})).body;
					assert.equal(instructions.length, 12);
					assert.equal(instructions[4].address, pc);
					assert.ok(instructions[4].symbol);

					const frame = stackFrames.find(f => f.source && f.source.sourceReference);
					const { content } = (await client.sourceRequest({ sourceReference: frame.source.sourceReference })).body;
					assert.ok(content.split('\n')[frame.line - 1].startsWith(`${frame.source.name}:${frame.line} is here, but the source file is not on this machine`));
					assert.match(content, /^0x[0-9a-f]+ <\+\d+>:\t/m);
					assert.deepEqual((await client.customRequest('loadedSources')).body.sources, []); // the page is none

					const { modules } = (await client.modulesRequest({})).body;
					assert.ok(modules.some(m => m.id === stackFrames[0].moduleId && /sframe v3/.test(m.unwind)));
					const { body: exception } = await client.exceptionInfoRequest({ threadId });
					assert.match(exception.exceptionId, /^SIG/);
					assert.ok(exception.details.message);
				});

				it('evaluates expressions and commands', async () => {
					const { threadId } = await open(config(name));
					const { stackFrames } = (await client.stackTraceRequest({ threadId })).body;
					const evaluate = async (expression, context) =>
						(await client.evaluateRequest({ expression, context, frameId: stackFrames[1].id })).body.result;
					assert.ok((await evaluate('$pc', 'hover')).startsWith(stackFrames[1].instructionPointerReference));
					assert.equal(await evaluate('(1 + 2) * 3', 'watch'), '9');
					assert.match(await evaluate('*$sp', 'watch'), /^0x/);
					assert.match(await evaluate('x/4gx $sp', 'repl'), /^0x.*:\t0x/);
					assert.match(await evaluate('sframe', 'repl'), /cfa=/);
					assert.equal((await evaluate('bt all', 'repl')).match(/^thread /gm).length, expected(name).length);
					const { targets } = (await client.completionsRequest({ text: 'info m', column: 7 })).body;
					assert.deepEqual(targets.map(t => t.label), ['modules', 'mappings']);
				});

				it('refuses to execute', async () => {
					const { threadId } = await open(config(name));
					assert.match(await refusal(client.continueRequest({ threadId })), /core file/);
					assert.match(await refusal(client.nextRequest({ threadId })), /does not execute/);
					assert.match(await refusal(client.pauseRequest({ threadId })), /core file/);
					const { breakpoints } = (await client.setBreakpointsRequest({ source: { path: '/a.c' }, breakpoints: [{ line: 1 }] })).body;
					assert.equal(breakpoints[0].verified, false);
					assert.ok(breakpoints[0].message);
					await disconnect({});
				});
			});
		}

		it('understands configurations of cppdbg and delve', async () => {
			const { coreFile, paths } = config('amd64-v3-deep');
			await open({ coreDumpPath: coreFile, program: path.join(paths[0], 'deep') });
			await disconnect({});
		});

		it('says in a sentence what is wrong', async () => {
			await client.initializeRequest({ adapterID: 'sfcore', pathFormat: 'path' });
			assert.match(await refusal(client.attachRequest({})), /names no process.*"coreFile"/);
			assert.match(await refusal(client.attachRequest({ coreFile: '/no/such/core' })), /there is no file \/no\/such\/core/);
		});

		it('takes snapshots of a live process', async function () {
			const sleep = spawn('sleep', ['60']);
			try {
				const stopped = await open({ pid: sleep.pid });
				assert.equal(stopped.reason, 'pause');
				assert.equal(stopped.threadId, sleep.pid);
				assert.ok((await client.stackTraceRequest({ threadId: sleep.pid })).body.totalFrames > 1);
				await client.continueRequest({ threadId: sleep.pid });
				assert.match(await refusal(client.stackTraceRequest({ threadId: sleep.pid })), /is running/);
				const again = client.waitForEvent('stopped');
				await client.pauseRequest({ threadId: sleep.pid });
				await again;
				await disconnect({ terminateDebuggee: true });
				assert.equal(sleep.exitCode, null);
				assert.equal(sleep.signalCode, null);
			} finally {
				sleep.kill();
			}
		});
	});
}
