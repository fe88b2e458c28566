// Compiled and interpreted functions, callbacks from C++, workers, wasm.
const { Worker, isMainThread } = require('node:worker_threads');
const crypto = require('node:crypto');
const zlib = require('node:zlib');

if (isMainThread) for (let i = 0; i < 2; i++) new Worker(__filename);

// A factorial, recursive.
const fac = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(
  '0061736d0100000001060160017e017e03020100070701036661630000' +
  '0a190117002000420153047e4201052000200042017d10007e0b0b', 'hex'))).exports.fac;

const fib = n => n < 2 ? n : fib(n - 1) + fib(n - 2);
const text = 'the quick brown fox '.repeat(400);

class Shape { area() { return 0; } }
class Square extends Shape { constructor(a) { super(); this.a = a; } area() { return this.a ** 2; } }

const loads = [
  () => fib(24),
  () => Array.from({ length: 3000 }, (_, i) => (i * 7919) % 3001).sort((a, b) => a - b),
  () => text.replace(/(\w+) (\w+)/g, (_, a, b) => b + ' ' + a),
  () => JSON.parse(JSON.stringify(Array.from({ length: 500 }, (_, i) => ({ i, s: 'x'.repeat(i % 50) }))),
    (k, v) => v),
  () => crypto.createHash('sha256').update(text).digest('hex'),
  () => zlib.deflateSync(text),
  () => { for (let i = 0; i < 2000; i++) fac(20n); },
  () => { try { eval('(function f(n) { if (!n) throw new Error("x"); f(n - 1) })(50)'); } catch { } },
  () => Array.from({ length: 2000 }, (_, i) => new Square(i)).reduce((s, q) => s + q.area(), 0),
  () => [...(function* g(n) { if (n) { yield n; yield* g(n - 1); } })(40)],
  () => Reflect.apply(Math.max, null, Array.from({ length: 1000 }, Math.random)),
  async () => { for (let i = 0; i < 20; i++) await null; },
  () => new Promise(done => crypto.pbkdf2('a', 'b', 2000, 32, 'sha256', done)),
];

(async () => {
  for (; ;) {
    await loads[Math.floor(Math.random() * loads.length)]();
    if (Math.random() < 0.05) await new Promise(setImmediate);
  }
})();
